import LinuxRuntime
import MediaCore
package import SessionBus
import TestSupport

/// A program on a ``TestBus``: a service that answers calls, or a client that makes some. Leaves the bus with the
/// value.
package final class BusService: Sendable {
    /// Answers a call; nil refuses it. Called on GIO's thread.
    package typealias Answer = @Sendable (BusMessage) -> [BusValue]?

    package let connection: BusConnection
    private let received: Monitor<[BusMessage]>

    init(_ connection: BusConnection, _ name: String?, _ answer: @escaping Answer) throws {
        self.connection = connection
        let received = Monitor<[BusMessage]>([])
        self.received = received
        connection.listen { [weak connection] message in
            received.change { $0.append(message) }
            guard message.kind == .call, let connection else { return false }
            if let values = answer(message) {
                connection.reply(to: message, values)
            } else {
                connection.refuse(message, "org.freedesktop.DBus.Error.UnknownMethod")
            }
            return true
        }
        if let name, !connection.own(name) { throw Program.Failure("the bus does not give the name \(name)") }
    }

    deinit { connection.close() }

    /// Waits for a message, past or future, for 20 s at most.
    package func message(where isWanted: (BusMessage) -> Bool) -> BusMessage? {
        received.wait(until: MonotonicClock.now + .seconds(20)) { $0.first(where: isWanted) }
    }

    /// Waits until so many messages, past and future, are wanted, for 20 s at most.
    package func messages(_ count: Int, where isWanted: (BusMessage) -> Bool) -> [BusMessage] {
        received.wait(until: MonotonicClock.now + .seconds(20)) { all in
            let wanted = all.filter(isWanted)
            return wanted.count >= count ? wanted : nil
        } ?? []
    }

    /// Waits for a call of a method, past or future, for 20 s at most.
    package func call(of member: String) -> BusMessage? { message { $0.kind == .call && $0.member == member } }

    /// Calls a method, and waits for the reply or the error.
    package func ask(
        _ destination: String, _ path: String, _ interface: String, _ member: String, _ arguments: [BusValue] = []
    ) -> BusMessage? {
        let serial = connection.call(destination, path, interface, member, arguments)
        return message { $0.replySerial == serial && ($0.kind == .reply || $0.kind == .error) }
    }

    /// Asks the bus for something and waits for its answer, so that all that was sent before has been handled by the
    /// bus.
    package func settle() {
        _ = ask("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "GetId")
    }
}
