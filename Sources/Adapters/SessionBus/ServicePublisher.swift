import LinuxRuntime
import MediaCore

/// Tells the local network of a service until it is closed (DNS-based service discovery, RFC 6763, over multicast DNS).
package final class ServicePublisher: Sendable {
    /// The states of an entry group in Avahi's StateChanged.
    private static let (established, collision, failure) = (2, 3, 4)
    /// Of an instance's name, in bytes (RFC 6763 section 4.1.1).
    private static let nameLength = 63
    /// A service that many others have the name of gives up.
    private static let names = 9
    /// Probing and announcing take a second (RFC 6762 section 8).
    private static let patience = MediaDuration.milliseconds(5_000)

    private let avahi: Avahi
    private let group: String
    private let name: String
    /// The last arguments of AddService: port, TXT record.
    private let content: [BusValue]
    private let ended: @Sendable (String) -> Void
    private let state = Monitor(State())

    private struct State {
        /// How many names were tried.
        var attempts = 0
        /// What Avahi has said of the group since it was committed.
        var reached: Int?
        var isSettled = false
        var isClosed = false
    }

    /// Blocks until the network has been told, which takes about a second.
    /// - Parameters:
    ///   - name: of the instance; a number is added while another one of the network has it.
    ///   - txtRecord: `key=value`, 255 bytes at most each.
    ///   - environment: may have DBUS_SYSTEM_BUS_ADDRESS.
    ///   - ended: called if the service cannot be told of any more; a sentence without a full stop.
    package init(
        _ name: String, port: Int, txtRecord: [String], environment: [String: String],
        ended: @escaping @Sendable (String) -> Void
    ) throws(LocalNetworkFailure) {
        avahi = try Avahi(environment)
        self.name = name
        self.ended = ended
        content = [
            .uint16(UInt16(clamping: port)), .array(of: "ay", txtRecord.map { .bytes(Array($0.utf8)) }),
        ]
        do throws(LocalNetworkFailure) {
            let made = try avahi.need("/", Avahi.server, "EntryGroupNew")
            guard let path = made.first?.text else {
                throw LocalNetworkFailure(message: "avahi-daemon's answer is wrong")
            }
            group = path
        } catch {
            avahi.bus.close()
            throw error
        }
        avahi.bus.match("type='signal',sender='\(Avahi.name)',interface='\(Avahi.group)',path='\(group)'")
        avahi.bus.match(
            "type='signal',sender='\(BusConnection.bus)',member='NameOwnerChanged',arg0='\(Avahi.name)'")
        avahi.bus.listen { [weak self] message in
            self?.take(message)
            return false
        }
        do throws(LocalNetworkFailure) {
            try publish()
        } catch {
            close()
            throw error
        }
    }

    deinit { close() }

    /// Takes the service back.
    package func close() {
        state.change { $0.isClosed = true }
        avahi.bus.close()
    }

    /// Tries one name after the other until Avahi has established one.
    private func publish() throws(LocalNetworkFailure) {
        while true {
            let attempt = state.with { state in
                state.attempts += 1
                (state.reached, state.isSettled) = (nil, false)
                return state.attempts
            }
            guard attempt <= Self.names else {
                throw LocalNetworkFailure(message: "others of the network have its name")
            }
            try avahi.need(group, Avahi.group, "Reset")
            let service: [BusValue] = [
                Avahi.any, Avahi.any, .uint32(0), .text(instance(attempt)), .text(Avahi.serviceType), .text(""),
                .text(""),
            ]
            switch avahi.call(group, Avahi.group, "AddService", service + content) {
            case .values: break
            case .error("org.freedesktop.Avahi.CollisionError"): continue
            case .error(let name): throw LocalNetworkFailure(message: "avahi-daemon refuses the service (\(name))")
            case .none: throw LocalNetworkFailure(message: "avahi-daemon does not answer")
            }
            try avahi.need(group, Avahi.group, "Commit")
            let reached = state.wait(until: MonotonicClock.now + Self.patience) { state -> Int? in
                if state.reached == Self.established { state.isSettled = true }
                return state.isClosed ? Self.failure : state.reached
            }
            switch reached {
            case Self.established: return
            case Self.collision: continue
            case nil: throw LocalNetworkFailure(message: "avahi-daemon does not tell the network")
            default: throw LocalNetworkFailure(message: "avahi-daemon cannot tell the network")
            }
        }
    }

    /// Returns the name, and for a further attempt one with a random number: two hosts that begin at once and count
    /// would have each next name in common, too.
    private func instance(_ attempt: Int) -> String {
        let suffix = attempt == 1 ? "" : " \(Int.random(in: 2...(attempt == 2 ? 9 : 999)))"
        var text = name
        while text.utf8.count + suffix.utf8.count > Self.nameLength { text.removeLast() }
        return text + suffix
    }

    /// On GIO's thread.
    private func take(_ message: BusMessage) {
        if message.newOwner(of: Avahi.name) != nil {
            finish("avahi-daemon has ended")
            return
        }
        guard message.sender == avahi.owner, message.path == group, message.isSignal(Avahi.group, "StateChanged"),
            let number = message.arguments.first?.number,
            [Self.established, Self.collision, Self.failure].contains(number)
        else { return }
        let wasSettled = state.change { state in
            defer { state.isSettled = state.isSettled && number == Self.established }
            if !state.isSettled { state.reached = number }
            return state.isSettled
        }
        guard wasSettled, number != Self.established else { return }
        // Another one of the network took the name later. Not on GIO's thread, which reads the replies.
        _ = try? NamedThread.start("publish") { [weak self] in
            guard let self else { return }
            do throws(LocalNetworkFailure) {
                try publish()
            } catch {
                finish(error.message)
            }
        }
    }

    private func finish(_ reason: String) {
        let isFirst = state.change { $0.isClosed.setOnce() }
        guard isFirst else { return }
        // What it does may block.
        _ = try? NamedThread.start("publish-end") { [ended] in ended(reason) }
    }
}
