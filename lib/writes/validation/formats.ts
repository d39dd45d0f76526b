/** The formats of names and other texts: each function says what is wrong with a text, in
 *  kube-apiserver's words, and nothing if it is right. */

/** A format: returns the problems of a text, or none. */
export type TextFormat = (text: string) => readonly string[]

const label = '[a-z0-9]([-a-z0-9]*[a-z0-9])?'
const subdomain = `${label}(\\.${label})*`
const underscored = '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?'
const qualified = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'

const labelRule = rule(
  label,
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
  ['my-name', '123-abc'],
)
const subdomainRule = rule(
  subdomain,
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
  ['example.com'],
)
const subdomainWithUnderscoreRule = rule(
  `${underscored}(\\.${underscored})*`,
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character",
  ['example.com'],
)
const dns1035Rule = rule(
  '[a-z]([-a-z0-9]*[a-z0-9])?',
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
  ['my-name', 'abc-123'],
)
const wildcardRule = rule(
  `\\*\\.${subdomain}`,
  "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
  ['*.example.com'],
)
const nameRule = rule(
  qualified,
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
  ['MyName', 'my.name', '123-abc'],
)
const labelValueRule = rule(
  `(${qualified})?`,
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
  ['MyValue', 'my_value', '12345'],
)
const configKeyRule = rule(
  '[-._a-zA-Z0-9]+',
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
  ['key.name', 'KEY_NAME', 'key-name'],
)
const percentRule = rule(
  '[0-9]+%',
  "a valid percent string must be a numeric string followed by an ending '%'",
  ['1%', '93%'],
)
const headerRule = rule(
  '[-A-Za-z0-9]+',
  "a valid HTTP header must consist of alphanumeric characters or '-'",
  ['X-Header-Name'],
)
const conditionReasonRule = rule(
  '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?',
  "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'",
  ['my_name', 'MY_NAME', 'MyName', 'ReasonA,ReasonB', 'ReasonA:ReasonB'],
)
const identifierRule = rule(
  '[A-Za-z_][A-Za-z0-9_]*',
  "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_'",
  ['my_name', 'MY_NAME', 'MyName'],
)
export const dnsLabel: TextFormat = text => [
  ...tooLong(text, 63),
  ...(labelRule.matches(text)
    ? []
    : [subdomainRule.matches(text) ? 'must not contain dots' : labelRule.message]),
]
export const dnsSubdomain: TextFormat = text => [...tooLong(text, 253), ...subdomainRule(text)]
/** A DNS subdomain, whose limit is said in bytes. */
export const dnsSubdomainInBytes: TextFormat = text => [
  ...tooLong(text, 253, 'bytes'),
  ...subdomainRule(text),
]
export const dnsSubdomainWithUnderscore: TextFormat = text => [
  ...tooLong(text, 253),
  ...subdomainWithUnderscoreRule(text),
]
export const dns1035Label: TextFormat = text => [...tooLong(text, 63), ...dns1035Rule(text)]
export const wildcardSubdomain: TextFormat = text => [...tooLong(text, 253), ...wildcardRule(text)]
export const labelValue: TextFormat = text => [
  ...tooLong(text, 63, 'bytes'),
  ...labelValueRule(text),
]
export const configKey: TextFormat = text => [
  ...tooLong(text, 253),
  ...configKeyRule(text),
  ...dotted(text),
]
export const percent: TextFormat = percentRule
export const conditionReason: TextFormat = conditionReasonRule
export const cIdentifier: TextFormat = identifierRule
export const httpHeaderName: TextFormat = headerRule
/** The key of a label, and other names with an optional prefix. */
export const qualifiedName: TextFormat = text => {
  const parts = text.split('/')
  if (parts.length > 2) {
    return [
      `a valid label key ${nameRule.message} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ]
  }
  const name = parts.at(-1) ?? ''
  const prefix = parts.length === 2 ? (parts[0] ?? '') : undefined
  const prefixErrors = prefix === undefined ? [] : prefix === '' ? ['must be non-empty'] : []
  const subdomainErrors = prefix === undefined || prefix === '' ? [] : dnsSubdomainInBytes(prefix)
  const nameErrors = [
    ...(name === '' ? ['must be non-empty'] : tooLong(name, 63, 'bytes')),
    ...nameRule(name),
  ]
  return [
    ...[...prefixErrors, ...subdomainErrors].map(error => `prefix part ${error}`),
    ...nameErrors.map(error => `name part ${error}`),
  ]
}

/** The name of an environment variable, which is not empty. */
export const environmentName: TextFormat = text =>
  // Printable ASCII without the equals sign.
  /^[ -<>-~]*$/.test(text)
    ? []
    : [
        "a valid environment variable name must consist only of printable ASCII characters other than '='",
      ]

export const portName: TextFormat = text => [
  ...tooLong(text, 15),
  ...(/^[-a-z0-9]+$/.test(text)
    ? []
    : ['must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)']),
  ...(/[a-z]/.test(text) ? [] : ['must contain at least one letter (a-z)']),
  ...(text.includes('--') ? ['must not contain consecutive hyphens'] : []),
  ...(text.startsWith('-') || text.endsWith('-') ? ['must not begin or end with a hyphen'] : []),
]

/** A name that is a part of a path. */
export const pathSegment: TextFormat = text => {
  if (text === '.' || text === '..') return [`may not be '${text}'`]
  return ['/', '%']
    .filter(illegal => text.includes(illegal))
    .map(illegal => `may not contain '${illegal}'`)
}

export function inRange(number: number, min: number, max: number): readonly string[] {
  return number >= min && number <= max ? [] : [`must be between ${min} and ${max}, inclusive`]
}

export function portNumber(number: number): readonly string[] {
  return inRange(number, 1, 65535)
}

/** Users and groups of processes. */
export function idNumber(number: number): readonly string[] {
  return inRange(number, 0, 2147483647)
}

/** The name after generateName is cut and a suffix is added. */
export function maskTrailingDash(text: string): string {
  return text.length > 1 && text.endsWith('-') ? `${text.slice(0, -2)}a` : text
}

/** A format that is one pattern. */
interface PatternRule extends TextFormat {
  readonly message: string
  readonly matches: (text: string) => boolean
}

function rule(pattern: string, words: string, examples: readonly string[]): PatternRule {
  const regExp = new RegExp(`^(?:${pattern})$`)
  const shown = examples.map(example => `'${example}', `).join(' or ')
  const message = `${words} (e.g. ${shown}regex used for validation is '${pattern}')`
  const matches = (text: string): boolean => !text.endsWith('\n') && regExp.test(text)
  return Object.assign((text: string) => (matches(text) ? [] : [message]), { message, matches })
}

function tooLong(text: string, max: number, unit = 'characters'): readonly string[] {
  return byteLength(text) > max ? [`must be no more than ${max} ${unit}`] : []
}

/** The number of the text's bytes as UTF-8, which is the length that Go counts. */
export function byteLength(text: string): number {
  return Buffer.byteLength(text)
}

function dotted(text: string): readonly string[] {
  if (text === '.' || text === '..') return [`must not be '${text}'`]
  return text.startsWith('..') ? ["must not start with '..'"] : []
}
