"""Tests of hamdex.spark."""
