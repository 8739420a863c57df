/// The relations of the `Link` headers by which WHEP's extensions are announced (draft-ietf-wish-whep-events).
enum WHEPExtension {
    static let events = "urn:ietf:params:whep:ext:core:server-sent-events"
    static let layers = "urn:ietf:params:whep:ext:core:layer"
}
