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
        case takeControlBack
        /// How many viewers the menu does not show.
        case furtherViewers
        /// Where a viewer points.
        case pointing
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
        _ event: StatusNotifierItem.Event, _ broadcast: any ControllableBroadcast, _ questions: TrayQuestions,
        _ stop: @Sendable (EndReason) -> Void
    ) {
        switch event {
        case .isShown(let isShown):
            hasTray = isShown
            questions.setTray(isShown)
        case .chosen(let number):
            if questions.choose(number) { return }
            if let choice = ViewerChoice(item: number) { return handle(choice, broadcast) }
            switch Choice(rawValue: number) {
            case .pause: _ = blocking { await broadcast.pause() }
            case .resume: _ = blocking { await broadcast.resume() }
            case .blank: _ = blocking { await broadcast.set(.blank, true) }
            case .unblank: _ = blocking { await broadcast.set(.blank, false) }
            case .muteMicrophone: broadcast.setAudioMuted(.microphoneAudio, true)
            case .unmuteMicrophone:
                guard blocking({ await broadcast.viewers() }).controller == nil else { return }
                broadcast.setAudioMuted(.microphoneAudio, false)
            case .takeControlBack: _ = blocking { await broadcast.takeControlBack() }
            case .stop: stop(EndReason(.stopped, "ended in the tray"))
            case .state, .comment, .furtherViewers, .pointing, nil: break
            }
        }
    }

    /// The pointer that has chosen may be that of the viewer who controls: it grants nothing.
    private func handle(_ choice: ViewerChoice, _ broadcast: any ControllableBroadcast) {
        let viewers = blocking { await broadcast.viewers() }
        guard let viewer = viewers.first(where: { $0.number == choice.number }) else { return }
        switch choice.action {
        case .none: break
        case .grant(let right):
            guard viewers.controller == nil else { return }
            guard blocking({ await broadcast.set(right, to: .yes, of: viewer.id) }) == nil else { return }
            ErrorOutput.writeLine("share: \(TrayAudience.title(viewer.description)) cannot get this right")
        case .revoke(let right): _ = blocking { await broadcast.set(right, to: .no, of: viewer.id) }
        case .remove: _ = blocking { await broadcast.remove(viewer: viewer.id) }
        }
    }

    func show(_ statistics: HostStatistics, _ audience: TrayAudience, service: String) {
        let content = Self.content(
            holds: statistics.holds, connected: statistics.connected, viewers: statistics.viewers,
            isMicrophoneMuted: statistics.audio.first { $0.kind == .microphoneAudio }?.isMuted, service: service,
            destination: statistics.destination, audience: audience)
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
    ///   - audience: who watches, and may get rights.
    static func content(
        holds: Set<BroadcastHold>, connected: Int, viewers: Int, isMicrophoneMuted: Bool?, service: String,
        destination: BroadcastReceiver? = nil, audience: TrayAudience = TrayAudience()
    ) -> StatusNotifierItem.Content {
        let isRecording = destination == .file
        let hold = holds.effective
        let controller = audience.controller
        let state: String =
            if let controller {
                "\(controller) controls your screen"
            } else if isRecording {
                hold.map { "The recording of your screen is \($0.participle)" } ?? "Your screen is recorded"
            } else if let hold {
                "The broadcast of your screen is \(hold.participle)"
            } else {
                receivers(connected: connected, viewers: viewers, service: service, destination)
            }
        var menu: [StatusNotifierItem.Content.MenuItem] = []
        if controller != nil { menu.append(.init(id: Choice.takeControlBack.rawValue, label: "Take control back")) }
        menu.append(.init(id: Choice.state.rawValue, label: state, isEnabled: false))
        if let comment = ReceiversText.comment(destination) {
            menu.append(.init(id: Choice.comment.rawValue, label: comment, isEnabled: false))
        }
        if let pointing = audience.pointing {
            menu.append(.init(id: Choice.pointing.rawValue, label: pointing, isEnabled: false))
        }
        menu += TrayQuestions.items(audience.questions)
        menu += audience.items
        func add(_ choice: Choice, _ label: String, isEnabled: Bool = true) {
            menu.append(.init(id: choice.rawValue, label: label, isEnabled: isEnabled))
        }
        if holds.contains(.blank) { add(.unblank, "Show the picture again") } else { add(.blank, "Hide the picture") }
        if holds.contains(.pause) { add(.resume, "Resume") } else { add(.pause, "Pause") }
        if isMicrophoneMuted == true {
            add(.unmuteMicrophone, "Unmute the microphone", isEnabled: controller == nil)
        }
        if isMicrophoneMuted == false { add(.muteMicrophone, "Mute the microphone") }
        add(.stop, isRecording ? "Stop the recording" : "Stop the broadcast")
        return .init(
            title: "share", toolTip: state, isLive: connected > 0 && hold == nil, isControlled: controller != nil,
            menu: menu)
    }
    private static func receivers(
        connected: Int, viewers: Int, service: String, _ destination: BroadcastReceiver?
    ) -> String {
        let name = service.split(separator: " ", maxSplits: 1).last.map { UntrustedText.quote(String($0)) }
        guard connected > 0 else { return "Your screen waits for \(name ?? "viewers")" }
        let told = ReceiversText.text(viewers: viewers, destination)
        return "Your screen is broadcast " + (destination != nil ? told : "to " + (name ?? told))
    }
}
