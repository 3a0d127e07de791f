//! The memory of a stack that was deep once.
//!
//! A statement that is nested deeply takes tens of megabytes of its thread's stack, which the thread would keep for good. They are
//! given back when the statement is done with them: what is below the functions that still run is of no use to anybody.

/// What is kept below the functions that run: most work needs no more, and has it at once.
#[cfg(target_os = "linux")]
const KEPT: usize = 1 << 20;
/// Where it is looked whether the stack was deeper: a function that calls itself leaves something in every page, or every few.
#[cfg(target_os = "linux")]
const LOOKED_AT: usize = 1 << 16;
#[cfg(target_os = "linux")]
const PAGE: usize = 1 << 12;

/// Gives back what the thread has of its stack far below the caller.
#[cfg(target_os = "linux")]
pub(crate) fn give_back() {
    let Some(stack) = own_stack() else { return };
    let here = std::ptr::addr_of!(stack) as usize;
    let Some(end) = here.checked_sub(KEPT).map(|end| end & !(PAGE - 1)) else { return };
    // A piece of stack that was added to it (`types::stack`) goes when it is left.
    if stack.contains(&here) && stack.start + LOOKED_AT < end && is_there(end - LOOKED_AT) {
        drop_pages(stack.start, end);
    }
}

/// Elsewhere a thread keeps it.
#[cfg(not(target_os = "linux"))]
pub(crate) fn give_back() {}

/// The addresses of this thread's stack.
#[cfg(target_os = "linux")]
fn own_stack() -> Option<std::ops::Range<usize>> {
    use std::cell::OnceCell;
    use std::ops::Range;

    thread_local! {
        static STACK: OnceCell<Option<Range<usize>>> = const { OnceCell::new() };
    }
    #[expect(
        unsafe_code,
        reason = "the calls fill what they are given, which lives here. That they may fail is checked; what was opened is closed."
    )]
    fn asked() -> Option<Range<usize>> {
        let mut attributes = std::mem::MaybeUninit::<libc::pthread_attr_t>::uninit();
        let (mut start, mut size, mut guard) = (std::ptr::null_mut(), 0, 0);
        let found = unsafe {
            if libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) != 0 {
                return None;
            }
            let found = libc::pthread_attr_getstack(attributes.as_ptr(), &raw mut start, &raw mut size) == 0
                && libc::pthread_attr_getguardsize(attributes.as_ptr(), &raw mut guard) == 0;
            libc::pthread_attr_destroy(attributes.as_mut_ptr());
            found
        };
        let start = start as usize;
        found.then(|| start + guard.next_multiple_of(PAGE)..start + size)
    }
    STACK.with(|stack| stack.get_or_init(asked).clone())
}

/// Whether some of the pages from here on are in memory.
#[cfg(target_os = "linux")]
#[expect(
    unsafe_code,
    reason = "the call reads no memory, and writes a byte for each page into a buffer of that length"
)]
fn is_there(from: usize) -> bool {
    let mut pages = [0_u8; LOOKED_AT / PAGE];
    let asked = unsafe { libc::mincore(from as *mut libc::c_void, LOOKED_AT, pages.as_mut_ptr()) };
    asked == 0 && pages.iter().any(|page| page & 1 == 1)
}

#[cfg(target_os = "linux")]
#[expect(
    unsafe_code,
    reason = "the pages are of this thread's own stack, and lie below everything that runs on it: nobody reads them again before \
              writing them. That the call may fail is no harm: they stay."
)]
fn drop_pages(from: usize, end: usize) {
    unsafe { libc::madvise(from as *mut libc::c_void, end - from, libc::MADV_DONTNEED) };
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// Takes so much of the stack, page by page.
    fn deep(bytes: usize) -> u8 {
        let page = std::hint::black_box([1_u8; PAGE]);
        if bytes < PAGE { page[0] } else { deep(bytes - PAGE) + (page[7] - 1) }
    }

    #[test]
    fn a_deep_stack_is_given_back_and_can_be_taken_again() {
        let thread = std::thread::Builder::new().stack_size(64 << 20).spawn(|| {
            let here = 0_u8;
            let far_below = (std::ptr::addr_of!(here) as usize - 2 * KEPT) & !(PAGE - 1);
            assert!(!is_there(far_below));
            for _ in 0..3 {
                assert_eq!(deep(3 * KEPT), 1);
                assert!(is_there(far_below));
                give_back();
                assert!(!is_there(far_below));
            }
        });
        thread.unwrap().join().unwrap();
    }
}
