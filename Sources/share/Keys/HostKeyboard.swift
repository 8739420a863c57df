import CommandSupport
import Control
import Glibc
import Host
import MediaCore

/// Carries out what is typed in the host's terminal while no question is asked there.
final class HostKeyboard: Sendable {
    /// A line in which nothing is typed for this long is taken away.
    private static let patience = Duration.seconds(20)

    private let prompt: Prompt
    private let control: BroadcastControl
    private let broadcast: any ControllableBroadcast
    private let link: String?
    private let feed: AsyncStream<HostKeys.Event>.Continuation
    private let events: AsyncStream<HostKeys.Event>
    let keys: HostKeys

    /// Whether keys can be read, and what they do can be shown.
    static var isPossible: Bool { [STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO].allSatisfy { isatty($0) == 1 } }

    /// - Parameter link: nil: the broadcast has none of its own, and no viewers.
    init(
        _ broadcast: any ControllableBroadcast, _ control: BroadcastControl, prompt: Prompt, link: String?,
        hasControl: Bool = false
    ) {
        self.broadcast = broadcast
        self.control = control
        self.prompt = prompt
        self.link = link
        keys = HostKeys(
            .init(
                hasViewers: link != nil, hasLink: link != nil, hasAudio: !broadcast.audioTracks.isEmpty,
                hasControl: hasControl))
        // Nobody types 64 keys ahead.
        (events, feed) = AsyncStream.makeStream(of: HostKeys.Event.self, bufferingPolicy: .bufferingOldest(64))
    }

    /// Begins to read keys, and says which there are.
    func start() {
        prompt.onFreeInput(urgentKeys: HostKeys.urgent) { [feed] input in
            switch input {
            case .key(let key): feed.yield(.key(key))
            case .urgent(let byte): feed.yield(.urgent(byte))
            case .question: feed.yield(.interrupted)
            }
        }
        Task { [self] in await run() }
        prompt.start()
        ErrorOutput.writeLine("share: \(keys.summary)")
    }

    func close() {
        prompt.onFreeInput(nil)
        feed.finish()
    }

    private func run() async {
        var keys = keys
        var timer: Task<Void, Never>?
        // Something is typed that a viewer who controls the screen must not.
        var isTyping = false
        func setTyping(_ isOn: Bool) {
            guard isOn != isTyping else { return }
            isTyping = isOn
            if isOn { OpenQuestions.ofProcess.begin() } else { OpenQuestions.ofProcess.end() }
        }
        for await event in events {
            for action in keys.handle(event) {
                await perform(action)
                switch action {
                case .prompt, .write:
                    setTyping(true)
                    timer?.cancel()
                    timer = Task { [feed] in
                        try? await Task.sleep(for: Self.patience)
                        if !Task.isCancelled { feed.yield(.interrupted) }
                    }
                case .endPrompt:
                    setTyping(false)
                    timer?.cancel()
                default: break
                }
            }
        }
        setTyping(false)
        timer?.cancel()
    }

    /// The relay of the first one may be away.
    private var newestLink: String? { get async { await broadcast.statistics()?.link ?? link } }

    private func perform(_ action: HostKeys.Action) async {
        switch action {
        case .showKeys: showKeys()
        case .toggle(let hold):
            let isOn = await broadcast.holds().contains(hold)
            await broadcast.set(hold, !isOn)
        case .toggleAudio:
            let tracks = broadcast.audioTracks
            let isMuted = tracks.contains { !$0.isMuted }
            for track in tracks { broadcast.setAudioMuted(track.kind, isMuted) }
        case .takeControlBack:
            if await !broadcast.takeControlBack() { say("no viewer controls this screen") }
        case .copyLink:
            if let link = await newestLink { say(ErrorOutput.copied(link)) }
        case .showCode:
            guard let link = await newestLink, LinkCode(link)?.show() != true else { return }
            say("a QR code does not fit into this terminal; the link is: \(link)")
        // Keys are read meanwhile.
        case .list(let number): Task { await list(number) }
        case .prompt(let line): prompt.showInput(line)
        case .write(let line): prompt.showInput(line, isText: true)
        case .comment(let text):
            if await !broadcast.say(text) { say("nobody was told that") }
        case .endPrompt: prompt.endInput()
        case .say(let sentence): say(sentence)
        case .remove(let number): Task { await remove(number) }
        case .setRight(let right, let isGranted, let number): Task { await set(right, isGranted, number) }
        }
    }

    private func say(_ sentence: String) { ErrorOutput.writeLine("share: \(sentence)") }

    private func showKeys() {
        say("keys, while this terminal asks nothing:")
        for binding in keys.bindings { ErrorOutput.writeLine("       \(binding.key)  \(binding.meaning)") }
        ErrorOutput.writeLine("       Ctrl-C ends the broadcast")
    }

    private func list(_ listing: Int) async {
        guard let viewers = try? await control.answer(ControlRequest(.viewers)).viewers else { return }
        guard !viewers.isEmpty else { return say("nobody watches") }
        say("\(viewers.count) \(viewers.count == 1 ? "viewer" : "viewers"):")
        for viewer in viewers { ErrorOutput.writeLine("       \(viewer.shortLine)") }
        feed.yield(
            .listed(
                listing, viewers.map { HostKeys.ListedViewer(number: $0.number, title: $0.title, rights: $0.rights) }))
    }

    private func set(_ right: ViewerRight, _ isGranted: Bool, _ number: Int) async {
        do throws(ControlError) {
            _ = try await control.answer(
                ControlRequest(.setRight(right, isGranted: isGranted, viewer: String(number))))
        } catch {
            say(error.message)
        }
    }

    private func remove(_ number: Int) async {
        do throws(ControlError) {
            let answer = try await control.answer(ControlRequest(.remove(String(number))))
            if let removed = answer.removed { ErrorOutput.writeLine("       \(removed.readmission)") }
        } catch {
            say(error.message)
        }
    }
}
