//! Leave to read what is in a directory: one request of a site at a time and thread, because a list of many files takes much
//! memory. It is the request's with all that belongs to it: a listing looks every entry up, and an entry that is negotiated,
//! or misspelt, has a directory read in its turn.

use crate::limits::budget::Budget;
use crate::request::Request;
use crate::request::flow::Halt;
use crate::site::files::Site;
use std::rc::Rc;
use tokio::sync::SemaphorePermit;

/// A request's leave; a part of the request that has it already has nothing to give back.
pub(crate) struct Leave<'a> {
    own: Option<(SemaphorePermit<'a>, Rc<Budget>)>,
}

impl Drop for Leave<'_> {
    fn drop(&mut self) {
        if let Some((_, budget)) = &self.own {
            budget.lists.set(None);
        }
    }
}

/// Waits for the site's turn.
pub(crate) async fn leave<'a>(request: &Request, site: &'a Site) -> Result<Leave<'a>, Halt> {
    let budget = &request.budget;
    if budget.lists.get() == Some(site.id) {
        return Ok(Leave { own: None });
    }
    let permit = site.listing.acquire().await.map_err(|_| Halt::Status(500))?;
    budget.lists.set(Some(site.id));
    Ok(Leave { own: Some((permit, budget.clone())) })
}
