//! This process's own memory.

/// Gives memory that was freed, and that lies between what is still in use, back to the kernel. The allocator does so
/// by itself only at the end of what it has. Threads that ask for memory meanwhile wait: not to be called often.
pub fn give_back() {
    // glibc's; others have no such call, and no such need.
    #[cfg(target_env = "gnu")]
    // SAFETY: it takes no pointer, and locks the allocator itself.
    unsafe {
        libc::malloc_trim(0);
    }
}
