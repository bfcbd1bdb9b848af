"""Gray Learning where people already train: a thin file a framework, imported only when it is asked for.

    hugging_face    Trainer: the loss, and a callback that records and audits
    lightning       Trainer: a callback that records and audits
    trees           LightGBM and XGBoost: the Gray objective
    lightgbm        LightGBM's classifier by that objective
    mlflow          a fitted classifier as a pyfunc model
    onnx            a fitted classifier in one file, for runtimes without torch
    trackers        TensorBoard, MLflow, Weights & Biases: what `gl.train` says of each epoch

skorch takes `criterion=graylearn.GrayLoss`, Accelerate and loops of your own take `graylearn.Recorder`: they
need no file here.
"""
