"""Spark DataFrames for TensorFlow and PyTorch; see `spark_dataset_converter`."""

from .spark_dataset_converter import SparkDatasetConverter, make_spark_converter

__all__ = ["SparkDatasetConverter", "make_spark_converter"]
