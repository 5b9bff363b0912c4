//! Nothing: the manifest names features of packages of others, so that they are built once.
