/// The options of the command line.
public enum Options {
    /// What stands after `--NAME`.
    public static func value(_ name: String) -> String? {
        let arguments = CommandLine.arguments
        guard let index = arguments.firstIndex(of: "--" + name), arguments.indices.contains(index + 1) else {
            return nil
        }
        return arguments[index + 1]
    }

    /// Whether `--NAME` is there.
    public static func has(_ name: String) -> Bool { CommandLine.arguments.contains("--" + name) }

    /// The first argument, if it is no option.
    public static var first: String? {
        CommandLine.arguments.dropFirst().first.flatMap { $0.hasPrefix("-") ? nil : $0 }
    }
}
