/// An EBML element ID with its marker bits, as it stands in the file (RFC 8794 section 5). The names are those of
/// Matroska (RFC 9559 section 5.1).
public struct ElementID: Hashable, Sendable {
    public let rawValue: UInt32

    public init(_ rawValue: UInt32) { self.rawValue = rawValue }

    /// In bytes, 1...4.
    public var length: Int { max(1, 4 - rawValue.leadingZeroBitCount / 8) }

    // EBML
    public static let ebml = Self(0x1A45_DFA3)
    static let ebmlVersion = Self(0x4286)
    static let ebmlReadVersion = Self(0x42F7)
    static let ebmlMaxIDLength = Self(0x42F2)
    static let ebmlMaxSizeLength = Self(0x42F3)
    public static let docType = Self(0x4282)
    static let docTypeVersion = Self(0x4287)
    static let docTypeReadVersion = Self(0x4285)
    public static let void = Self(0xEC)

    // Segment
    public static let segment = Self(0x1853_8067)
    public static let seekHead = Self(0x114D_9B74)
    static let seek = Self(0x4DBB)
    static let seekID = Self(0x53AB)
    static let seekPosition = Self(0x53AC)
    public static let info = Self(0x1549_A966)
    public static let tracks = Self(0x1654_AE6B)
    public static let cluster = Self(0x1F43_B675)
    public static let cues = Self(0x1C53_BB6B)

    // Info
    static let timestampScale = Self(0x2AD7B1)
    static let duration = Self(0x4489)
    static let dateUTC = Self(0x4461)
    static let title = Self(0x7BA9)
    static let muxingApp = Self(0x4D80)
    static let writingApp = Self(0x5741)

    // Tracks
    static let trackEntry = Self(0xAE)
    static let trackNumber = Self(0xD7)
    static let trackUID = Self(0x73C5)
    static let trackType = Self(0x83)
    static let flagDefault = Self(0x88)
    static let flagLacing = Self(0x9C)
    static let name = Self(0x536E)
    static let codecID = Self(0x86)
    static let codecPrivate = Self(0x63A2)
    static let codecDelay = Self(0x56AA)
    static let seekPreRoll = Self(0x56BB)
    static let video = Self(0xE0)
    static let pixelWidth = Self(0xB0)
    static let pixelHeight = Self(0xBA)
    static let alphaMode = Self(0x53C0)
    static let colour = Self(0x55B0)
    static let matrixCoefficients = Self(0x55B1)
    static let chromaSitingHorz = Self(0x55B7)
    static let chromaSitingVert = Self(0x55B8)
    static let range = Self(0x55B9)
    static let transferCharacteristics = Self(0x55BA)
    static let primaries = Self(0x55BB)
    static let audio = Self(0xE1)
    static let samplingFrequency = Self(0xB5)
    static let channels = Self(0x9F)
    static let defaultDuration = Self(0x23E383)
    static let contentEncodings = Self(0x6D80)

    // Cluster
    static let timestamp = Self(0xE7)
    static let simpleBlock = Self(0xA3)
    static let blockGroup = Self(0xA0)
    static let block = Self(0xA1)
    static let referenceBlock = Self(0xFB)
    static let codecState = Self(0xA4)
    /// Of older versions of Matroska.
    static let encryptedBlock = Self(0xAF)

    // Cues
    static let cuePoint = Self(0xBB)
    static let cueTime = Self(0xB3)
    static let cueTrackPositions = Self(0xB7)
    static let cueTrack = Self(0xF7)
    static let cueClusterPosition = Self(0xF1)
    static let cueRelativePosition = Self(0xF0)
}
