import CSDL
import LinuxRuntime
import MediaCore

/// Wakes the main thread while it waits for window events.
///
/// Under X11 it polls an eventfd beside the X connection, because SDL's own wake-up sends a message to the X server and
/// back. With any other display SDL waits, and an event in its queue wakes it.
final class WindowWakeup: Sendable {
    private let wakeup: Wakeup
    /// The X connection's descriptor; -1 with another display.
    private let socket: Int32
    /// The type of the event in SDL's queue that wakes the main thread.
    let eventType: UInt32

    init(socket: Int32) throws(SourceFailure) {
        self.socket = socket
        eventType = SDL_RegisterEvents(1)
        do throws(Wakeup.Failure) {
            wakeup = try Wakeup()
        } catch {
            throw SourceFailure(.unsupported, "No event descriptor could be made (errno \(error.code)).")
        }
    }

    /// Wakes the main thread. May be called from any thread.
    func signal() {
        if socket >= 0 { return wakeup.signal() }
        var event = SDL_Event()
        event.type = eventType
        SDL_PushEvent(&event)
    }

    /// Sleeps until the window has events, a signal came or the deadline passed. Called on the main thread, with SDL's
    /// queue empty.
    func wait(until deadline: MediaInstant?) {
        if socket >= 0 {
            if wakeup.wait(or: socket, until: deadline) { wakeup.consume() }
        } else if let deadline {
            let left = max(0, (deadline - MonotonicClock.now).nanoseconds)
            SDL_WaitEventTimeout(nil, Int32(clamping: (left + 999_999) / 1_000_000))
        } else {
            SDL_WaitEvent(nil)
        }
    }
}
