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

/// Has each thread keep so many bytes of what it has freed at the end of its memory. Of its own accord the allocator keeps so little
/// that a thread which needs more for one thing and less for the next gives pages back and takes them again, over and over.
pub fn keep_freed(bytes: i32) {
    #[cfg(target_env = "gnu")]
    // SAFETY: it takes two numbers, and changes when memory is given back.
    unsafe {
        libc::mallopt(libc::M_TRIM_THRESHOLD, bytes);
    }
    #[cfg(not(target_env = "gnu"))]
    let _ = bytes;
}

/// Has each block of so many bytes or more mapped by itself, so that it is the kernel's again as soon as it is freed. The allocator
/// of its own accord does so only until the first such block is freed; from then on it keeps room of that size, for each thread.
pub fn map_large_blocks(bytes: i32) {
    #[cfg(target_env = "gnu")]
    // SAFETY: it takes two numbers, and changes how later blocks are found.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, bytes);
    }
    #[cfg(not(target_env = "gnu"))]
    let _ = bytes;
}
