import CommandSupport
import FoundationEssentials
import Glibc
import MediaCore

/// Values for the fields of a service: from the arguments (`NAME=VALUE`), from stdin (`NAME=-`), from files
/// (`NAME=FILE`), or from the environment (SHARE_FIELD_NAME), of which the first one counts.
struct FieldValues {
    /// Of --field.
    let arguments: [String]
    /// Of --field-file.
    let files: [String]
    var environment = ProcessInfo.processInfo.environment

    private static let prefix = "SHARE_FIELD_"
    /// Parts of names whose values are probably secrets.
    private static let secrets = ["token", "secret", "password", "passwd", "key", "pin"]

    /// By the names of the fields. A value that the user is to type is not among them.
    func values() throws(CommandError) -> [String: String] {
        var values = environmentValues
        for text in files {
            let (name, file) = try Self.pair(text, "--field-file is NAME=FILE")
            values[name] = try SecretFile.firstLine(file, "--field-file \(name)")
        }
        for text in arguments {
            let (name, value) = try Self.pair(text, "--field is NAME=VALUE")
            guard value == "-" else {
                warnIfSecret(name, value)
                values[name] = value
                continue
            }
            // In a terminal the question for the field comes by itself.
            values[name] = isatty(STDIN_FILENO) == 1 ? nil : readLine()?.trimmed
        }
        return values
    }

    /// Names have `-` and `_`, of which variables have `_` alone.
    private var environmentValues: [String: String] {
        var values: [String: String] = [:]
        for (name, value) in environment where name.hasPrefix(Self.prefix) && !value.isEmpty {
            let name = name.dropFirst(Self.prefix.count).lowercased()
            values[name] = value
            values[name.replacing("_", with: "-")] = value
        }
        return values
    }

    private func warnIfSecret(_ name: String, _ value: String) {
        guard !value.isEmpty, Self.secrets.contains(where: { name.lowercased().contains($0) }) else { return }
        ErrorOutput.writeLine(
            "share: other users of this machine can read --field \(name)=...: use --field \(name)=-, --field-file or "
                + "SHARE_FIELD_\(name.uppercased().replacing("-", with: "_"))")
    }

    private static func pair(_ text: String, _ form: String) throws(CommandError) -> (name: String, value: String) {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        // The text may be a secret.
        guard parts.count == 2 else { throw CommandError(sentence: form, status: .usage) }
        return (String(parts[0]), String(parts[1]))
    }
}
