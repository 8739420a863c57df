import Foundation

/// What happens on the host's display besides the stamp.
enum Scene: String, CaseIterable {
    case still, stamp, typing, scrolling, video

    var hasStamp: Bool { self != .still }

    /// Starts it; it runs for at least `seconds`.
    func start(on display: String, seconds: Int) throws -> [Subprocess] {
        let environment = ["DISPLAY": display]
        var running: [Subprocess] = []
        switch self {
        case .still, .stamp: break
        case .typing:
            running.append(
                try terminal(
                    environment, "i=0; while [ $i -lt \(seconds * 10) ]; do printf x; sleep 0.1; i=$((i+1)); done"))
        case .scrolling:
            running.append(
                try terminal(
                    environment,
                    """
                    i=0; while [ $i -lt \(seconds * 30) ]; do
                    echo "$i the quick brown fox jumps over the lazy dog and reads 0x$i bytes from the file number $((i*7919)) in time"
                    sleep 0.03; i=$((i+1)); done
                    """))
        case .video:
            running.append(try Subprocess(tool("scene"), ["-s", "\(seconds)"], environment: environment))
        }
        if hasStamp {
            running.append(try Subprocess(tool("stamp"), ["-f", "30", "-s", "\(seconds)"], environment: environment))
        }
        return running
    }

    private func terminal(_ environment: [String: String], _ script: String) throws -> Subprocess {
        try Subprocess(
            "xterm", ["-geometry", "200x60+100+200", "-fa", "Monospace", "-fs", "10", "-e", "sh", "-c", script],
            environment: environment)
    }
}

/// A program built beside this one.
func tool(_ name: String) -> String {
    URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath().deletingLastPathComponent()
        .appendingPathComponent(name).path
}
