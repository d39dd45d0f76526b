/** Everything that other packages may import of this one. */

export {
  type Address,
  addressText,
  contains,
  isAddress,
  isMasked,
  isPrefix,
  parseAddress,
  parsePrefix,
  type Prefix,
  prefixText,
} from './addresses.ts'
export { goFloat } from './float.ts'
export { canonicalNumber } from './json-number.ts'
export { GoJsonError, type GoJsonValue, parseGoJson } from './json.ts'
export {
  appendJsonString,
  canonicalStringEnd,
  compareStrings,
  decodeString,
  inputOf,
  type JsonInput,
  skipPlain,
  stringEnd,
} from './json/strings.ts'
export {
  jsonArray,
  jsonFalse,
  jsonNull,
  jsonNumber,
  jsonObject,
  jsonPlainText,
  JsonTape,
  jsonText,
  jsonTrue,
  numberEnd,
} from './json/tape.ts'
export {
  compareUtf8,
  copyTree,
  copyTreeInSteps,
  documentInSteps,
  isTooDeep,
  itemsOf,
  JsonNumber,
  type JsonObject,
  type JsonValue,
  memberAt,
  memberOf,
  objectIn,
  type ParsedDocument,
  parseDocument,
  parseTree,
  sortTree,
  sortTreeInSteps,
  textFromTree,
  textInOrder,
  textInSteps,
  treeBytesPerEffort,
  treeInSteps,
  treeMaxDepth,
} from './json/tree.ts'
export { goPattern, type GoPattern, patternProblem } from './patterns/go-pattern.ts'
export {
  canonicalQuantity,
  isPlainQuantity,
  quantityNanos,
  roundedToThousandths,
  sumOfQuantities,
} from './quantity.ts'
export { sortUnstably } from './sort.ts'
export {
  controlEscapes,
  goJsonString,
  goParseDuration,
  goParseInt,
  goParseUint,
  goQuote,
  goText,
  quoteEscapes,
  trimSpaces,
  utf8Length,
} from './text.ts'
export { timeProblem } from './time-problem.ts'
export {
  dateFromDays,
  hasMicros,
  isCanonicalTime,
  microTimeText,
  millisecondsFromText,
  momentFromText,
  textFromMilliseconds,
  zeroSeconds,
  zeroTime,
} from './time.ts'
export { parseUrl } from './urls.ts'
export {
  type CertificateRequest,
  parseRequest,
  requestProblem,
} from './x509/certificate-request.ts'
export { readDer } from './x509/der.ts'
export { expiryProblem } from './x509/expiry.ts'
export { keyPairProblem } from './x509/key-pairs.ts'
export { pemBlocksInBase64 } from './x509/pem.ts'
