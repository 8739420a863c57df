import ArgumentParser

/// The value of `share host --audio`.
enum AudioChoice: ExpressibleByArgument, Equatable, CustomStringConvertible {
    case system
    case application(String)
    case none

    init?(argument: String) {
        switch argument {
        case "system": self = .system
        case "none": self = .none
        default:
            guard argument.hasPrefix("app:"), argument.utf8.count <= 260 else { return nil }
            let name = argument.dropFirst(4).drop { $0.isWhitespace }
            guard !name.isEmpty else { return nil }
            self = .application(String(name))
        }
    }

    var description: String {
        switch self {
        case .system: "system"
        case .application(let name): "app:" + name
        case .none: "none"
        }
    }

    var defaultValueDescription: String { description }

    static var allValueStrings: [String] { ["system", "app:NAME", "none"] }
}
