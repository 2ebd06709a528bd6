"""Where log records come from: a cluster, files, earlier record forms; the same rows from all of them."""
