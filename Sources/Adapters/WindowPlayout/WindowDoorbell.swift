import CSDL
import Glibc
import MediaCore

/// Wakes the main thread while it waits for window events.
///
/// Under X11 it polls an eventfd beside the X connection, because SDL's own wake-up sends a message to the X server and
/// back. With any other display SDL waits, and an event in its queue wakes it.
final class WindowDoorbell: Sendable {
    private let descriptor: Int32
    /// The X connection's descriptor; -1 with another display.
    private let socket: Int32
    /// The type of the event in SDL's queue that wakes the main thread.
    let eventType: UInt32

    init(socket: Int32) throws(SourceFailure) {
        self.socket = socket
        eventType = SDL_RegisterEvents(1)
        descriptor = csdl_make_event_descriptor()
        guard descriptor >= 0 else {
            throw SourceFailure(.unsupported, "No event descriptor could be made (errno \(errno)).")
        }
    }

    deinit { close(descriptor) }

    /// From any thread.
    func ring() {
        if socket < 0 {
            var event = SDL_Event()
            event.type = eventType
            SDL_PushEvent(&event)
        } else {
            var one: UInt64 = 1
            _ = write(descriptor, &one, 8)
        }
    }

    /// Sleeps until the window has events, the bell rang or the deadline passed. Main thread; SDL's queue has to be empty.
    func wait(until deadline: MediaInstant?) {
        var milliseconds = Int32(-1)
        if let deadline {
            milliseconds = Int32(clamping: max(0, ((deadline - Self.now()).nanoseconds + 999_999) / 1_000_000))
        }
        if socket < 0 {
            if milliseconds < 0 { SDL_WaitEvent(nil) } else { SDL_WaitEventTimeout(nil, milliseconds) }
            return
        }
        var watched = [
            pollfd(fd: socket, events: Int16(POLLIN), revents: 0),
            pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
        ]
        guard poll(&watched, 2, milliseconds) > 0, watched[1].revents != 0 else { return }
        var count: UInt64 = 0
        _ = read(descriptor, &count, 8)
    }

    static func now() -> MediaInstant {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return MediaInstant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }
}
