/// One row of the main table.
struct Measurement {
    var contender: String
    var scene: Scene
    /// The age of a stamp when it was seen, in ms.
    var p50: Double?
    var p95: Double?
    var stampsPerSecond: Double?
    /// The CPU time of the sending side, in ms a second.
    var hostCPU: Double?
    var residentMegabytes: Double?
    /// The memory including a share of mappings that other processes have, too (PSS), in MB.
    var proportionalMegabytes: Double?
    /// The bitrate of RTP with its headers, in kbit/s.
    var kilobits: Double?
    /// The time from the start of the viewer to its first frame, in ms.
    var firstPicture: Double?
    var note = ""

    init(_ contender: String, _ scene: Scene, _ probe: Probe? = nil) {
        self.contender = contender
        self.scene = scene
        p50 = probe?.p50
        p95 = probe?.p95
        stampsPerSecond = probe?.stampsPerSecond
        note = probe?.error ?? ""
    }

    mutating func add(note text: String) { note += note.isEmpty ? text : "; " + text }

    static let header = [
        "scene", "program", "p50 ms", "p95 ms", "stamps/s", "sender CPU ms/s", "RSS MB", "Pss MB", "kbit/s",
        "first picture ms", "note",
    ]

    var cells: [String] {
        [
            scene.rawValue, contender, cell(p50, 1), cell(p95, 1), cell(stampsPerSecond, 1), cell(hostCPU),
            cell(residentMegabytes), cell(proportionalMegabytes), cell(kilobits), cell(firstPicture), note,
        ]
    }
}
