import ArgumentParser
import CommandSupport
import Control
import MediaCore

struct ViewersCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "viewers", abstract: "List the viewers of a broadcast.",
        discussion: """
            Prints a line for each session: number, time, name with kind and address, bitrate, \
            path, fingerprint, and the four words. Exit codes: 0, also without viewers, 64 \
            several broadcasts run, 72 none runs.
            """)

    @OptionGroup var control: ControlOptions

    @Flag(help: "Print one JSON object a line.")
    var json = false

    func run() throws {
        try complaining { () throws(CommandError) in
            let viewers = try control.one().perform(.viewers).viewers ?? []
            if viewers.isEmpty { ErrorOutput.writeLine("share: nobody watches") }
            for viewer in viewers { DataOutput(isJSON: false).line(json ? viewer.json.text : viewer.line) }
        }
    }
}

extension ViewerStatus {
    var json: JSONValue {
        .object([
            "number": .integer(number), "name": .string(name), "kind": .string(kind), "address": .string(address),
            "words": .string(words), "fingerprint": .string(fingerprint),
            "connectedSeconds": connectedSeconds.map { .integer($0) } ?? .null,
            "interrupted": .boolean(interrupted), "path": .string(path), "kbit": .integer(kilobits),
            "atRelay": .boolean(atRelay == true),
            "records": .boolean(records ?? false), "rights": rights.map { .object($0.fields) } ?? .null,
        ])
    }
}

extension ViewerRights {
    var fields: KeyValuePairs<String, JSONValue> {
        [
            "comment": .string(comment.rawValue), "point": .string(point.rawValue),
            "control": .string(control.rawValue),
        ]
    }
}
