import ArgumentParser
import CommandSupport
import Control
import MediaCore

struct CameraCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "camera", abstract: "Show, hide, move or exchange the camera of a broadcast.",
        discussion: """
            share camera                   what it shows
            share camera on | off          off also turns the camera itself off
            share camera front | back      the first or the second camera; the old picture stays until the new one is there
            share camera at PLACE          top-left, top-right, bottom-left, bottom-right, or X,Y in pixels
            share camera size SIZE         20% of the picture's width, or pixels: 320
            share camera mirror | plain    left and right exchanged, or not

            Exit codes: 0 done, 64 several broadcasts run or this one has no camera, 72 none runs.
            """)

    @OptionGroup var control: ControlOptions

    @Argument(help: ArgumentHelp("What to do, see above.", valueName: "action"))
    var action: [String] = []

    private func request() throws -> CameraRequest {
        var request = CameraRequest()
        switch (action.first, action.count) {
        case (nil, _): break
        case ("on", 1): request.enabled = true
        case ("off", 1): request.enabled = false
        case ("front", 1), ("back", 1): request.position = action[0]
        case ("mirror", 1): request.mirrored = true
        case ("plain", 1): request.mirrored = false
        case ("at", 2): request.place = try CameraOptions.place(action[1]).text
        case ("size", 2): request.size = try CameraOptions.size(action[1]).text
        default:
            throw ValidationError(
                "'\(action.joined(separator: " "))' is nothing that a camera does: on, off, front, back, at PLACE, size SIZE, mirror or plain."
            )
        }
        return request
    }

    func validate() throws { _ = try request() }

    func run() throws {
        let request = try request()
        try complaining { () throws(CommandError) in
            let answer = try control.one().perform(.camera(request))
            ErrorOutput.writeLine("share: \(answer.camera?.sentence ?? "no camera")")
        }
    }
}

extension CameraStatus {
    /// "the front camera (shown: Desk cam) is on: top-right, 20%, mirrored"
    var sentence: String {
        func clean(_ text: String) -> String { UntrustedText.clean(text, limit: 160, fallback: "") }
        guard enabled else { return "the camera is off" }
        let form = [place, size, mirrored ? "mirrored" : nil].compactMap(\.self).map(clean)
        let rest = form.isEmpty ? "" : ": " + form.joined(separator: ", ")
        let camera = "the \(clean(position)) camera"
        if let problem { return "\(camera) is chosen\(rest), but shows nothing: \(clean(problem))" }
        guard let name else { return "\(camera) is chosen\(rest), but nothing has come from it yet" }
        return "\(camera) (shown: \(clean(name))) is on\(rest)"
    }
}
