//! A connection whose reader must keep up: one that takes no bytes, or very few, is closed, so that it cannot hold answers in memory.

use std::{
    future::Future,
    io,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::{Instant, Sleep},
};

/// Bytes a second that a reader must take, on average.
const LEAST: f64 = (64 << 10) as f64;

/// A connection that fails when its reader was waited for too long.
///
/// `credit` is how long may still be waited. Waiting uses it up, and each byte that the reader takes earns some of it back.
#[derive(Debug)]
pub(crate) struct Patient {
    stream: TcpStream,
    most: Duration,
    credit: Duration,
    waiting: Option<(Instant, Pin<Box<Sleep>>)>,
}

impl Patient {
    pub(crate) fn new(stream: TcpStream, most: Duration) -> Self {
        Self { stream, most, credit: most, waiting: None }
    }

    fn kept_up(&mut self, bytes: usize) {
        if let Some((since, _)) = self.waiting.take() {
            self.credit = self.credit.saturating_sub(since.elapsed());
        }
        let earned = Duration::from_secs_f64(bytes as f64 / LEAST);
        self.credit = self.credit.saturating_add(earned).min(self.most);
    }

    fn waits(&mut self, context: &mut Context<'_>) -> Poll<io::Error> {
        let credit = self.credit;
        let (_, timer) = self.waiting.get_or_insert_with(|| (Instant::now(), Box::pin(tokio::time::sleep(credit))));
        timer.as_mut().poll(context).map(|()| io::Error::new(io::ErrorKind::TimedOut, "the reader takes no bytes"))
    }
}

impl AsyncRead for Patient {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Patient {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match Pin::new(&mut self.stream).poll_write(context, bytes) {
            Poll::Pending => self.waits(context).map(Err),
            Poll::Ready(written) => {
                self.kept_up(written.as_ref().map_or(0, |bytes| *bytes));
                Poll::Ready(written)
            }
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match Pin::new(&mut self.stream).poll_write_vectored(context, bytes) {
            Poll::Pending => self.waits(context).map(Err),
            Poll::Ready(written) => {
                self.kept_up(written.as_ref().map_or(0, |bytes| *bytes));
                Poll::Ready(written)
            }
        }
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
