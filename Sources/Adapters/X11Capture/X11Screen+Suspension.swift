import CXCB
import Glibc
import LinuxRuntime
public import MediaCore

/// A screen that is not captured at the moment.
extension X11Screen {
    /// No damage is selected then, so that only the end of the connection wakes.
    public func waitSuspended() throws(SourceFailure) -> Bool {
        guard let connection else { return false }
        xcb_flush(connection.raw)
        while true {
            while let event = xcb_poll_for_event(connection.raw) { free(event) }
            try connection.checkAlive()
            if wakeup.consume() { return true }
            wakeup.wait(or: connection.descriptor, until: nil)
        }
    }
}
