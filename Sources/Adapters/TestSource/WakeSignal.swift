internal import Glibc
internal import MediaCore

/// Ends another thread's sleep. Rings before the sleep are kept; many count as one.
// SAFETY: `isRung` is touched only while `mutex` is held.
final class WakeSignal: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var isRung = false

    init() {
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(condition, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    func ring() {
        pthread_mutex_lock(mutex)
        isRung = true
        pthread_cond_signal(condition)
        pthread_mutex_unlock(mutex)
    }

    /// Sleeps until it rings or the deadline passes; nil sleeps as long as it takes.
    /// - Returns: whether it rang.
    func sleep(until deadline: MediaInstant?) -> Bool {
        pthread_mutex_lock(mutex)
        defer {
            isRung = false
            pthread_mutex_unlock(mutex)
        }
        while !isRung {
            guard let deadline else {
                pthread_cond_wait(condition, mutex)
                continue
            }
            var time = timespec(
                tv_sec: Int(deadline.nanoseconds / 1_000_000_000), tv_nsec: Int(deadline.nanoseconds % 1_000_000_000))
            if pthread_cond_timedwait(condition, mutex, &time) == ETIMEDOUT { break }
        }
        return isRung
    }
}

extension MediaInstant {
    static var now: MediaInstant {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return MediaInstant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }
}
