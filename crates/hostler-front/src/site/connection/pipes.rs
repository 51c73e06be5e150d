//! The pipes between the front and the programs of a site.
//!
//! The front makes them itself: that is quickest. But what pipes hold counts for the user who has made them, also when
//! a program enlarges one or leaves it open for ever, so that a tenant can use up what the front's user may have
//! (`fs.pipe-user-pages-soft`, pipe(7)), and the kernel gives the front small pipes from then on. Then the site's process
//! makes them, and they count for the site's user. A program may do with its pipes what it likes, and takes room from
//! its own site only.

use super::answers::Waiter;
use super::{Link, SiteError};
use hostler_gateway::backend::cgi::{Ends, Pipes};
use hostler_sys::pipe::Direction::{self, FromProgram, ToProgram};
use hostler_sys::pipe::{Pipe, is_whole};
use hostler_wire::site::{MOST_PIPES, ToSite};
use std::io;
use std::os::fd::OwnedFd;
use tokio::sync::oneshot;

impl Link {
    /// The pipes of a program that reads its request and writes its answer, and the program's ends of them.
    ///
    /// # Errors
    /// The kernel's.
    pub(crate) async fn standard(&self, input: bool) -> io::Result<(Pipes, Ends)> {
        if input {
            let [input, output, errors] = self.pipes([ToProgram, FromProgram, FromProgram]).await?;
            Pipes::of(Some(input), [output, errors])
        } else {
            Pipes::of(None, self.pipes([FromProgram, FromProgram]).await?)
        }
    }

    /// Pipes for a program, at most [`MOST_PIPES`]. Where the site's process can't make them either, they are small.
    ///
    /// # Errors
    /// The kernel's.
    pub(crate) async fn pipes<const N: usize>(&self, directions: [Direction; N]) -> io::Result<[Pipe; N]> {
        const { assert!(N <= MOST_PIPES as usize) };
        let own: io::Result<Vec<Pipe>> = directions.into_iter().map(Direction::pipe).collect();
        let small = match own {
            // If one was made small, so was the last one.
            Ok(pipes) if pipes.last().is_none_or(|(ours, _)| is_whole(ours)) => Ok(pipes),
            own => self.pipes_of_site(&directions).await.or(own),
        };
        small?.try_into().map_err(|_| io::ErrorKind::InvalidData.into())
    }

    /// Pipes that the site's process makes.
    async fn pipes_of_site(&self, directions: &[Direction]) -> io::Result<Vec<Pipe>> {
        let ends = self.ask_for_pipes(directions.len() as u32).await.map_err(io::Error::other)?;
        let mut ends = ends.map_err(io::Error::from_raw_os_error)?.into_iter();
        let pipe = |direction: &Direction| {
            let ends = ends.next().zip(ends.next()).ok_or(io::ErrorKind::InvalidData)?;
            direction.pipe_of_another(ends)
        };
        directions.iter().map(pipe).collect()
    }

    async fn ask_for_pipes(&self, count: u32) -> Result<Result<Vec<OwnedFd>, i32>, SiteError> {
        let (tell, told) = oneshot::channel();
        let id = self.id();
        self.ask(id, Waiter::Pipes(tell), &ToSite::Pipes { id, count }, Vec::new())?;
        self.answer(told).await
    }
}
