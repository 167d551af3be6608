"""Scripts that make the prediction files of `calipers study images`: see README.md."""
