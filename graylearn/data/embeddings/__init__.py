"""Images and text into features of pre-trained networks."""
