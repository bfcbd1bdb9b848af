"""The example of delimited text; test_read_delimited.py looks closer."""


def example(folder):
    path = folder / "pets.csv"
    path.write_text(
        "size,colour,label\n1.5,red,cat\n2.5,blue,dog\n3,red,cat\n4,,dog\n5,red,cat\n6,blue,dog\n"
    )
    return path
