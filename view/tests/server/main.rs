//! The server without a browser: each rule of security, each request, and what happens to silly ones.

#[path = "../common/mod.rs"]
mod common;
mod copied;
mod pages;
mod requests;
mod security;
