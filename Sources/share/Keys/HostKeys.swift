import CommandSupport
import MediaCore

/// What the keys in a host's terminal do while no question is asked there. A value: it says what is to be done, and the
/// caller does it.
struct HostKeys {
    enum Event: Equatable {
        case key(KeyPress)
        /// A key of `urgent`, at any moment.
        case urgent(UInt8)
        /// The viewers that `list` of this number was for, as they were shown.
        case listed(Int, [ListedViewer])
        /// A question has taken the terminal, or nobody has typed for a while.
        case interrupted
    }

    struct ListedViewer: Equatable {
        var number: Int
        /// The quoted name, the program and the address.
        var title: String
        /// Nil: it can have no rights, and can only be removed.
        var rights: ViewerRights?
    }

    enum Action: Equatable {
        case showKeys
        /// Begins the hold, or ends it.
        case toggle(BroadcastHold)
        case toggleAudio
        case takeControlBack
        case copyLink
        case showCode
        /// Shows the viewers; `listed` follows with this number if there are any.
        case list(Int)
        /// Shows a line in which something is typed.
        case prompt(String)
        /// Shows a line in which a text is written, of which every key is a part.
        case write(String)
        /// Tells all viewers.
        case comment(String)
        /// Takes that line away.
        case endPrompt
        case say(String)
        case remove(Int)
        /// Grants the viewer of this number a right, or takes it back.
        case setRight(ViewerRight, isGranted: Bool, Int)
    }

    /// A key, and its meaning in the line and in the list of keys.
    struct Binding {
        let key: Character
        let name: String
        let meaning: String
        let action: Action
    }

    /// What the broadcast has.
    struct Abilities {
        var hasViewers = true
        var hasLink = true
        var hasAudio = true
        var hasControl = false
    }

    private enum Mode: Equatable {
        case idle
        /// The viewers of `list` of this number are awaited.
        case listing(Int)
        /// The number of a viewer is typed.
        case choosing(String)
        /// What is to be done with the viewer is chosen.
        case acting(ListedViewer)
        /// Whether it is to be removed.
        case confirming(ListedViewer)
        /// A comment is written.
        case writing
    }

    let bindings: [Binding]
    private let hasControl: Bool
    private var mode = Mode.idle
    private var listed: [ListedViewer] = []
    /// The comment that is written, in UTF-8. What was not sent stays for the next time.
    private var draft: [UInt8] = []
    /// Of the last `list`.
    private var listing = 0

    /// The keys that do the same at any moment, also while a question is asked or a number is typed.
    static let urgent: Set<UInt8> = [UInt8(ascii: "b"), UInt8(ascii: "x")]

    private static let (escape, backspace, delete) = (UInt8(27), UInt8(8), UInt8(127))
    private static let lineEnds: Set<UInt8> = [10, 13]
    /// Session numbers of a broadcast stay far below.
    private static let digitLimit = 9

    init(_ abilities: Abilities) {
        var bindings: [Binding] = []
        hasControl = abilities.hasControl
        func add(_ key: Character, _ name: String, _ meaning: String, _ action: Action, if isPossible: Bool = true) {
            if isPossible { bindings.append(Binding(key: key, name: name, meaning: meaning, action: action)) }
        }
        add(
            "v", "viewers", "list the viewers; remove one, or let one write, point or control", .list(0),
            if: abilities.hasViewers)
        add("c", "comment", "write a comment that all viewers see", .write(""), if: abilities.hasViewers)
        add("p", "pause", "pause: nothing is captured, the last frame stays; again: resume", .toggle(.pause))
        add("b", "blank", "blank: a grey picture at once, and nothing is captured; again: show it", .toggle(.blank))
        add("f", "freeze", "freeze: the picture stands, audio goes on; again: go on", .toggle(.freeze))
        add("m", "mute", "mute all audio; again: unmute it", .toggleAudio, if: abilities.hasAudio)
        add(
            "x", "take control back", "take the control of this screen back from the viewer that has it",
            .takeControlBack, if: abilities.hasControl)
        add("l", "copy the link", "have the terminal copy the link (OSC 52)", .copyLink, if: abilities.hasLink)
        add("q", "QR code", "show the QR code of the link", .showCode, if: abilities.hasLink)
        add("?", "all keys", "show these keys", .showKeys)
        self.bindings = bindings
    }

    /// "keys: v viewers, p pause, ...".
    var summary: String { "keys: " + bindings.map { "\($0.key) \($0.name)" }.joined(separator: ", ") }

    mutating func handle(_ event: Event) -> [Action] {
        switch event {
        case .interrupted:
            defer { mode = .idle }
            return isTyping ? [.endPrompt] : []
        case .listed(let number, let viewers):
            // What was listed before a question, or before another key, asks for no number after it.
            guard mode == .listing(number) else { return [] }
            guard !viewers.isEmpty else {
                mode = .idle
                return []
            }
            listed = viewers
            mode = .choosing("")
            return [.prompt(Self.line(""))]
        case .urgent(let byte):
            return bindings.first { $0.key.asciiValue == byte }.map { [$0.action] } ?? []
        case .key(let key):
            if mode == .writing { return write(key) }
            guard case .key(let byte) = key else { return [] }
            switch mode {
            case .idle, .listing: return begin(byte)
            case .choosing(let digits): return choose(byte, digits)
            case .acting(let viewer): return act(byte, viewer)
            case .confirming(let viewer): return confirm(byte, viewer)
            case .writing: return []
            }
        }
    }

    private var isTyping: Bool {
        switch mode {
        case .idle, .listing: false
        case .choosing, .acting, .confirming, .writing: true
        }
    }

    private mutating func begin(_ byte: UInt8) -> [Action] {
        guard let action = bindings.first(where: { $0.key.asciiValue == byte })?.action else { return [] }
        mode = .idle
        if case .write = action {
            mode = .writing
            return [writingLine]
        }
        guard case .list = action else { return [action] }
        listing += 1
        mode = .listing(listing)
        return [.list(listing)]
    }

    // MARK: A comment

    private static let (clear, draftLimit) = (UInt8(21), 2_000)

    private mutating func write(_ key: KeyPress) -> [Action] {
        switch key {
        case .key(let end) where Self.lineEnds.contains(end):
            let text = String(decoding: draft, as: UTF8.self)
            draft = []
            return leave() + (text.allSatisfy(\.isWhitespace) ? [] : [.comment(text)])
        case .key(Self.escape): return leave()
        case .key(Self.backspace), .key(Self.delete):
            draft = Array(String(decoding: draft, as: UTF8.self).dropLast().utf8)
        case .key(Self.clear): draft = []
        case .key(let byte): add([byte])
        // An arrow key, for example.
        case .text(let bytes) where bytes.first == Self.escape: return []
        case .text(let bytes): add(bytes)
        }
        return [writingLine]
    }

    /// A text that is pasted is sent by no line end of its own.
    private mutating func add(_ bytes: [UInt8]) {
        let text = bytes.map { Self.lineEnds.contains($0) ? UInt8(ascii: " ") : $0 }
        draft += text.filter { $0 >= 32 && $0 != Self.delete }.prefix(max(0, Self.draftLimit - draft.count))
    }

    private var writingLine: Action {
        .write("  Comment (Enter sends it, Esc leaves): " + String(decoding: draft, as: UTF8.self).suffix(80))
    }

    // MARK: Viewers

    private mutating func choose(_ byte: UInt8, _ digits: String) -> [Action] {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9") where digits.count < Self.digitLimit:
            return type(digits + String(UnicodeScalar(byte)))
        case Self.backspace, Self.delete: return type(String(digits.dropLast()))
        case let end where Self.lineEnds.contains(end) && !digits.isEmpty:
            guard let viewer = listed.first(where: { String($0.number) == digits }) else {
                return [.say("no viewer of the list has the number \(digits)")] + type("")
            }
            guard let rights = viewer.rights else { return askWhetherToRemove(viewer) }
            mode = .acting(viewer)
            return [.prompt("  \(viewer.title): \(choices(rights)), Enter alone: nothing: ")]
        case let end where Self.lineEnds.contains(end) || end == Self.escape: return leave()
        default: return []
        }
    }

    private mutating func type(_ digits: String) -> [Action] {
        mode = .choosing(digits)
        return [.prompt(Self.line(digits))]
    }

    private mutating func act(_ byte: UInt8, _ viewer: ListedViewer) -> [Action] {
        switch byte {
        case UInt8(ascii: "r"), UInt8(ascii: "R"): return askWhetherToRemove(viewer)
        case UInt8(ascii: "c"), UInt8(ascii: "C"): return leave() + toggle(.comment, viewer)
        case UInt8(ascii: "p"), UInt8(ascii: "P"): return leave() + toggle(.point, viewer)
        case UInt8(ascii: "o"), UInt8(ascii: "O"): return hasControl ? leave() + toggle(.control, viewer) : []
        case let end where Self.lineEnds.contains(end) || end == Self.escape: return leave()
        default: return []
        }
    }

    private func choices(_ rights: ViewerRights) -> String {
        var choices = ["[r]emove"]
        choices.append(rights.comment == .yes ? "take [c]omments back" : "allow [c]omments")
        choices.append(rights.point == .yes ? "take the [p]ointer back" : "allow the [p]ointer")
        if hasControl { choices.append(rights.control == .yes ? "take c[o]ntrol back" : "give c[o]ntrol") }
        return choices.joined(separator: ", ")
    }

    private func toggle(_ right: ViewerRight, _ viewer: ListedViewer) -> [Action] {
        [.setRight(right, isGranted: viewer.rights?[right] != .yes, viewer.number)]
    }

    private mutating func askWhetherToRemove(_ viewer: ListedViewer) -> [Action] {
        mode = .confirming(viewer)
        return [.prompt("  Remove \(viewer.title)? [y]es, [n]o: ")]
    }

    private mutating func confirm(_ byte: UInt8, _ viewer: ListedViewer) -> [Action] {
        switch byte {
        case UInt8(ascii: "y"), UInt8(ascii: "Y"): return leave() + [.remove(viewer.number)]
        case UInt8(ascii: "n"), UInt8(ascii: "N"), Self.escape: return leave()
        default: return []
        }
    }

    private mutating func leave() -> [Action] {
        mode = .idle
        return [.endPrompt]
    }

    private static func line(_ digits: String) -> String { "  Which number? (Enter alone: none) " + digits }
}
