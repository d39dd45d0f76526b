/** References of container images, as Go's parser reads them (github.com/distribution/reference),
 *  as far as a default depends on it: whether the tag is `latest`. What is no reference has no
 *  tag. */

const component = '(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])'
const host = `(?:${component}(?:\\.${component})*|\\[[a-fA-F0-9:]+\\])(?::[0-9]+)?`
const pathPart = '[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*'
const name = `(?:(${host})/)?(${pathPart}(?:/${pathPart})*)`
const digest = '[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}'
const reference = new RegExp(`^${name}(?::([A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?(?:@(${digest}))?$`)

const knownDigest = /^(?:sha256:[a-f0-9]{64}|sha384:[a-f0-9]{96}|sha512:[a-f0-9]{128})$/
const pathMaxLength = 255
/** A path of 255 characters, a tag of 128 and a digest of 136, with what stands between them. */
const restMaxLength = 522
/** Longer ones are taken apart without the patterns, which take time that grows with the square of
 *  what they read. A domain may have any length. */
const shortMaxLength = 1_000

/** True if the image is the newest one, said or not. */
export function isLatestImage(text: string): boolean {
  if (/^[a-f0-9]{64}$/.test(text)) return false
  const [said, rest] = splitDomain(text)
  const isLong = text.length > shortMaxLength
  if (isLong && (rest.length > restMaxLength || !isHost(said))) return false
  // Which host it is makes no difference.
  const domain = isLong ? defaultDomain : said
  const repository = rest.replace(/:.*$/s, '')
  if (repository.toLowerCase() !== repository) return false
  const match = reference.exec(`${domain}/${rest}`)
  if (match === null) return false
  const [, , path = '', tag, digestText] = match
  if (path.length > pathMaxLength) return false
  if (digestText !== undefined && !knownDigest.test(digestText)) return false
  return tag === undefined ? digestText === undefined : tag === 'latest'
}

const defaultDomain = 'docker.io'

/** True if the text matches the pattern of a host, found in time proportional to the text. */
function isHost(text: string): boolean {
  const [, name = ''] = /^(.*?)(?::[0-9]+)?$/s.exec(text) ?? []
  if (/^\[[a-fA-F0-9:]+\]$/.test(name)) return true
  return name.split('.').every(part => /^[a-zA-Z0-9-]+$/.test(part) && !/^-|-$/.test(part))
}

/** The registry, which familiar names leave out, and what is behind it. */
function splitDomain(text: string): [domain: string, rest: string] {
  const at = text.indexOf('/')
  if (at < 0) return [defaultDomain, `library/${text}`]
  const [first, behind] = [text.slice(0, at), text.slice(at + 1)]
  const isDomain = first === 'localhost' || /[.:]/.test(first) || first.toLowerCase() !== first
  const [domain, rest] =
    first === 'index.docker.io'
      ? [defaultDomain, behind]
      : isDomain
        ? [first, behind]
        : [defaultDomain, text]
  return domain === defaultDomain && !rest.includes('/')
    ? [domain, `library/${rest}`]
    : [domain, rest]
}
