public import MediaCore

extension BroadcastObject {
    /// One session of a viewer.
    public struct Viewer: Sendable, Equatable {
        /// Stays the same as long as the session.
        public var number: Int
        public var name: String
        /// "browser", "share", ...
        public var kind: String
        public var address: String
        /// Nil: it can have none.
        public var rights: ViewerRights?

        public init(number: Int, name: String, kind: String, address: String, rights: ViewerRights?) {
            (self.number, self.name, self.kind) = (number, name, kind)
            (self.address, self.rights) = (address, rights)
        }
    }

    /// Why a command was not carried out.
    public struct Refusal: Error, Sendable, Equatable {
        /// The last part of the error's name.
        public enum Reason: String, Sendable {
            case failed = "Failed"
            case unknownViewer = "UnknownViewer"
            /// More than one viewer is meant.
            case ambiguousViewer = "AmbiguousViewer"
            case unknownRight = "UnknownRight"
            case textTooLong = "TextTooLong"
        }

        public var reason: Reason
        /// For people, without a full stop.
        public var sentence: String

        public init(_ reason: Reason, _ sentence: String) { (self.reason, self.sentence) = (reason, sentence) }

        var name: String { "io.sharekit.Error.\(reason.rawValue)" }
    }

    /// What came of a command.
    public enum Answer: Sendable, Equatable {
        case done
        /// Of `listViewers`.
        case viewers([Viewer])
        case refused(Refusal)
    }
}

extension BroadcastObject.Viewer {
    /// As a{sv}. One without rights has none of their keys.
    var dictionary: BusValue {
        let rights = rights.map { rights in ViewerRight.allCases.map { ($0.busName, rights[$0].rawValue) } } ?? []
        let texts = [("Name", name), ("Kind", kind), ("Address", address)] + rights
        return .array(
            of: "{sv}",
            [.entry(.text("Number"), .variant(.uint32(UInt32(clamping: number))))]
                + texts.map { .entry(.text($0), .variant(.text($1))) })
    }
}

extension ViewerRight {
    fileprivate var busName: String { rawValue.capitalizedName }
}

extension String {
    /// The name on the bus of what has this name in a verb's options.
    fileprivate var capitalizedName: String { prefix(1).uppercased() + dropFirst() }
}

extension ViewerRights {
    /// As a{ss}: {"comment": "yes", ...}.
    var busDictionary: BusValue {
        .array(of: "{ss}", ViewerRight.allCases.map { .entry(.text($0.rawValue), .text(self[$0].rawValue)) })
    }
}

extension BroadcastObject.Command {
    /// The signature of the arguments of each method.
    static let signatures: [String: String] = {
        var signatures = [
            "Stop": "", "SetMicrophone": "b", "ListViewers": "", "Grant": "ss", "Revoke": "ss", "TakeControlBack": "",
            "Say": "s",
        ]
        for name in holds.keys { signatures[name] = "" }
        return signatures
    }()

    /// `Pause`, `Resume`, `Blank` and so on.
    private static let holds: [String: Self] = {
        var commands: [String: Self] = [:]
        for hold in BroadcastHold.allCases {
            commands[hold.rawValue.capitalizedName] = .hold(hold, true)
            commands[hold.ending.capitalizedName] = .hold(hold, false)
        }
        return commands
    }()

    /// Longer texts name no viewer.
    private static let viewerLimit = 256

    /// The command of a method.
    /// - Parameters:
    ///   - texts: the arguments that are texts.
    ///   - isOn: the argument that is a boolean.
    /// - Returns: nil for another method, or other arguments than `signatures` has.
    static func read(
        _ method: String, _ texts: [String], isOn: Bool
    ) throws(BroadcastObject.Refusal) -> BroadcastObject.Command? {
        switch method {
        case "Stop": return .stop
        case "SetMicrophone": return .setMicrophone(isOn)
        case "ListViewers": return .listViewers
        case "TakeControlBack": return .takeControlBack
        case "Grant", "Revoke":
            guard texts.count == 2 else { return nil }
            guard let right = ViewerRight(rawValue: texts[1]) else {
                throw BroadcastObject.Refusal(.unknownRight, "the rights are comment, point and control")
            }
            guard texts[0].utf8.count <= viewerLimit else {
                throw BroadcastObject.Refusal(.unknownViewer, "no viewer has so long a name")
            }
            return .setRight(right, isGranted: method == "Grant", viewer: texts[0])
        case "Say":
            guard let text = texts.first else { return nil }
            guard text.unicodeScalars.count <= ViewerMessage.commentLimit else {
                throw BroadcastObject.Refusal(
                    .textTooLong, "a comment has \(ViewerMessage.commentLimit) characters at most")
            }
            return .say(text)
        default: return holds[method]
        }
    }
}
