import CommandSupport
import Host
import LinuxRuntime
import MediaCore
import SessionBus

/// Blanks a broadcast, and shows it again, by a key of the whole desktop, where the portal of a Wayland desktop has
/// such keys.
final class BlankShortcut: Sendable {
    private static let (id, preferred) = ("blank", "CTRL+ALT+b")
    private let shortcut: GlobalShortcut
    private let feed: AsyncStream<Void>.Continuation

    /// Asks for the key, on a thread of its own, as the desktop may ask its user. Without one nothing is said: the verbs
    /// and the keys of the terminal do the same.
    /// - Parameter address: of the session bus.
    init(_ broadcast: any ControllableBroadcast, address: String) {
        // Who holds the key down, or presses it often, is heard once in between.
        let (presses, feed) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let shortcut = GlobalShortcut(address: address, id: Self.id) { feed.yield() }
        (self.shortcut, self.feed) = (shortcut, feed)
        Task { [weak broadcast] in
            for await _ in presses {
                guard let broadcast else { return }
                let isBlanked = await broadcast.holds().contains(.blank)
                await broadcast.set(.blank, !isBlanked)
            }
        }
        _ = NamedThread("shortcut") {
            guard
                let key = try? shortcut.bind(
                    description: "Blank the shared screen, or show it again", preferred: Self.preferred)
            else { return }
            let name = UntrustedText.quote(UntrustedText.clean(key, limit: 64, fallback: Self.preferred))
            ErrorOutput.writeLine("share: \(name) blanks the broadcast, and shows it again, from everywhere")
        }
    }

    func close() {
        shortcut.close()
        feed.finish()
    }
}
