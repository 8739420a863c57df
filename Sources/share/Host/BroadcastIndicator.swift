import CommandSupport
import Host
import MediaCore
import PeerConnection
import SessionBus

/// Shows on the desktop that the screen is broadcast: an icon in the tray, with a menu, or a notification where the
/// desktop has no tray. On the thread of ``BroadcastBus``.
final class BroadcastIndicator {
    /// What the menu offers, by the numbers of its items.
    enum Choice: Int {
        case state = 1
        case pause
        case resume
        case blank
        case unblank
        case muteMicrophone
        case unmuteMicrophone
        case stop
        /// The newest comment that a service tells.
        case comment
    }

    private let address: String
    private let item: StatusNotifierItem?
    private let onEvent: @Sendable (StatusNotifierItem.Event) -> Void
    /// Nil until the desktop has answered.
    private var hasTray: Bool?
    private var notification: DesktopNotification?
    private var hasNotified = false
    private var isMicrophoneMuted: Bool?
    private var microphoneNotification: DesktopNotification?

    /// - Parameter onEvent: called on GIO's thread with what `handle` gets; must not block.
    init(_ address: String, onEvent: @escaping @Sendable (StatusNotifierItem.Event) -> Void) {
        self.address = address
        self.onEvent = onEvent
        item = StatusNotifierItem(
            address: address, .init(title: "share", toolTip: "", isLive: false, menu: []), onEvent: onEvent)
        if item == nil { hasTray = false }
    }

    func close() {
        item?.close()
        notification?.close()
        microphoneNotification?.close()
    }

    /// Carries out what the user has chosen.
    func handle(
        _ event: StatusNotifierItem.Event, _ broadcast: any ControllableBroadcast, _ stop: @Sendable (EndReason) -> Void
    ) {
        switch event {
        case .isShown(let isShown): hasTray = isShown
        case .chosen(let number):
            switch Choice(rawValue: number) {
            case .pause: _ = blocking { await broadcast.pause() }
            case .resume: _ = blocking { await broadcast.resume() }
            case .blank: _ = blocking { await broadcast.set(.blank, true) }
            case .unblank: _ = blocking { await broadcast.set(.blank, false) }
            case .muteMicrophone: broadcast.setAudioMuted(.microphoneAudio, true)
            case .unmuteMicrophone: broadcast.setAudioMuted(.microphoneAudio, false)
            case .stop: stop(EndReason(.stopped, "ended in the tray"))
            case .state, .comment, nil: break
            }
        }
    }

    func show(_ statistics: HostStatistics, service: String) {
        let content = Self.content(
            holds: statistics.holds, connected: statistics.connected, viewers: statistics.viewers,
            isMicrophoneMuted: statistics.audio.first { $0.kind == .microphoneAudio }?.isMuted, service: service,
            destination: statistics.destination)
        item?.update(content)
        noteMicrophone(statistics.audio.first { $0.kind == .microphoneAudio }?.isMuted)
        guard hasTray == false, !hasNotified, content.isLive else { return }
        hasNotified = true
        notification = DesktopNotification(address: address)
        notification?.show(
            summary: content.toolTip, body: "share stop ends that, and share pause pauses it.", expires: 10_000)
    }

    /// Tells the user when the microphone is unmuted, whoever did that.
    private func noteMicrophone(_ isMuted: Bool?) {
        defer { isMicrophoneMuted = isMuted }
        guard isMicrophoneMuted == true, isMuted == false else { return }
        if microphoneNotification == nil { microphoneNotification = DesktopNotification(address: address) }
        microphoneNotification?.show(
            summary: "Your microphone is on in the broadcast", body: "share mute --mic mutes it.", expires: 10_000)
    }

    /// - Parameters:
    ///   - connected: the sessions with media flowing, also that of a relay or a service.
    ///   - isMicrophoneMuted: nil if the microphone is not shared.
    static func content(
        holds: Set<BroadcastHold>, connected: Int, viewers: Int, isMicrophoneMuted: Bool?, service: String,
        destination: BroadcastReceiver? = nil
    ) -> StatusNotifierItem.Content {
        let name = service.split(separator: " ", maxSplits: 1).last.map { UntrustedText.quote(String($0)) }
        let told = ReceiversText.text(viewers: viewers, destination)
        let receivers = destination != nil ? told : "to " + (name ?? told)
        let isRecording = destination == .file
        let hold = holds.effective
        let state =
            isRecording
            ? (hold.map { "The recording of your screen is \($0.participle)" } ?? "Your screen is recorded")
            : hold.map { "The broadcast of your screen is \($0.participle)" }
                ?? (connected > 0
                    ? "Your screen is broadcast \(receivers)" : "Your screen waits for \(name ?? "viewers")")
        var menu = [StatusNotifierItem.Content.MenuItem(id: Choice.state.rawValue, label: state, isEnabled: false)]
        if let comment = ReceiversText.comment(destination) {
            menu.append(.init(id: Choice.comment.rawValue, label: comment, isEnabled: false))
        }
        func add(_ choice: Choice, _ label: String) { menu.append(.init(id: choice.rawValue, label: label)) }
        if holds.contains(.blank) { add(.unblank, "Show the picture again") } else { add(.blank, "Hide the picture") }
        if holds.contains(.pause) { add(.resume, "Resume") } else { add(.pause, "Pause") }
        if isMicrophoneMuted == true { add(.unmuteMicrophone, "Unmute the microphone") }
        if isMicrophoneMuted == false { add(.muteMicrophone, "Mute the microphone") }
        add(.stop, isRecording ? "Stop the recording" : "Stop the broadcast")
        return .init(title: "share", toolTip: state, isLive: connected > 0 && hold == nil, menu: menu)
    }
}
