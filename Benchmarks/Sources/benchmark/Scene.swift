/// The activity on the host's display.
enum Scene: String, CaseIterable {
    case still, stamp, typing, scrolling, video
    /// The stamp alone, 60 times a second.
    case stamp60
    /// A film of 1920 x 1080 at 60 pictures a second; only measured if it is asked for, as it takes more than two cores
    /// can do.
    case film

    var hasStamp: Bool { self != .still }

    /// Starts the scene, which runs for at least `seconds`.
    func start(on display: String, seconds: Int) throws -> [Subprocess] {
        let environment = ["DISPLAY": display]
        var running: [Subprocess] = []
        switch self {
        case .still, .stamp, .stamp60: break
        case .typing:
            running.append(try terminal(environment, "200x60+100+200", ["-r", "10", "-t"], seconds))
        case .scrolling:
            // Nearly the whole screen: 1,860 x 916 pixels, 170 of 232 columns full, four lines seventeen times a
            // second.
            running.append(try terminal(environment, "232x57+0+160", ["-r", "68", "-b", "4", "-w", "170"], seconds))
        case .video:
            running.append(try Subprocess(tool("scene"), ["-s", "\(seconds)"], environment: environment))
        case .film:
            running.append(
                try Subprocess(
                    tool("scene"),
                    ["-s", "\(seconds)", "-x", "0", "-y", "0", "-w", "1920", "-h", "1080", "-f", "60", "-l"],
                    environment: environment))
        }
        if hasStamp {
            running.append(
                try Subprocess(
                    tool("stamp"), ["-f", self == .film || self == .stamp60 ? "60" : "30", "-s", "\(seconds)"], environment: environment))
        }
        return running
    }

    private func terminal(
        _ environment: [String: String], _ geometry: String, _ arguments: [String], _ seconds: Int
    ) throws -> Subprocess {
        try Subprocess(
            "xterm",
            [
                "+sb", "-b", "0", "-geometry", geometry, "-fa", "Monospace", "-fs", "10", "-e", tool("lines"), "-s",
                "\(seconds)",
            ]
                + arguments,
            environment: environment)
    }
}
