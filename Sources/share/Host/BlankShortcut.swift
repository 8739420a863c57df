import CommandSupport
import Host
import LinuxRuntime
import MediaCore
import SessionBus

/// Blanks a broadcast, and shows it again, by a key of the whole desktop, where the portal of a Wayland desktop has
/// such keys.
final class BlankShortcut: Sendable {
    private static let (id, preferred) = ("blank", "CTRL+ALT+b")
    private static let description = "Blank the shared screen, or show it again"
    private let shortcut: GlobalShortcut
    private let feed: AsyncStream<Void>.Continuation

    /// Asks for the key, on a thread of its own, as the desktop may ask its user. Without one nothing is said: the
    /// verbs and the keys of the terminal do the same.
    /// - Parameters:
    ///   - address: of the session bus.
    ///   - say: gets a sentence about the key, on that thread, when there is one and when another one takes its place.
    init(
        _ broadcast: any ControllableBroadcast, address: String,
        clock: (@Sendable () -> MediaInstant)? = nil,
        say: @escaping @Sendable (String) -> Void = { ErrorOutput.writeLine("share: \($0)") }
    ) {
        // Who presses the key often is heard once in between.
        let (presses, feed) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let shortcut = GlobalShortcut(address: address, id: Self.id, clock: clock) { feed.yield() }
        (self.shortcut, self.feed) = (shortcut, feed)
        Task { [weak broadcast] in
            for await _ in presses {
                guard let broadcast else { return }
                let isBlanked = await broadcast.holds().contains(.blank)
                await broadcast.set(.blank, !isBlanked)
            }
        }
        _ = NamedThread("shortcut") { Self.run(shortcut, say) }
    }

    /// Asks the portal for the key, and asks the next one when it was started anew.
    private static func run(_ shortcut: GlobalShortcut, _ say: @Sendable (String) -> Void) {
        var said: String?
        repeat {
            do throws(SourceFailure) {
                let key = try shortcut.bind(description: description, preferred: preferred)
                let sentence = sentence(key)
                if sentence != said { say(sentence) }
                said = sentence
            } catch {
                // A portal that ends while it is asked is awaited once more.
                guard said != nil, error.code == .displayGone || error.code == .noDisplay else {
                    return shortcut.close()
                }
            }
        } while shortcut.waitForRestart()
    }

    /// - Parameter key: as the desktop says it; nil if it does not.
    private static func sentence(_ key: String?) -> String {
        let name = key.map { UntrustedText.clean($0, limit: 64, fallback: "") } ?? ""
        guard !name.isEmpty else {
            return "the desktop's settings can give a key to \(UntrustedText.quote(description)), from everywhere"
        }
        return "\(UntrustedText.quote(name)) blanks the broadcast, and shows it again, from everywhere"
    }

    func close() {
        shortcut.close()
        feed.finish()
    }
}
