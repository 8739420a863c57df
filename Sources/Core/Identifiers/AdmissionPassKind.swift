/// Who has admitted the viewer of an `AdmissionPass`; the raw value is the label of its HMAC.
package enum AdmissionPassKind: String, Sendable, CaseIterable {
    case ofPerson = "share v1 pass"
    case ofRule = "share v1 pass by rule"
}
