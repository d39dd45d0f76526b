/** The fields that every HPACK peer knows (RFC 7541, appendix A): the first has index 1. */

export type HeaderField = readonly [name: string, value: string]

/** The names from index 17 on. */
const namesOnly = (
  'accept-language accept-ranges accept access-control-allow-origin age allow authorization ' +
  'cache-control content-disposition content-encoding content-language content-length ' +
  'content-location content-range content-type cookie date etag expect expires from host if-match ' +
  'if-modified-since if-none-match if-range if-unmodified-since last-modified link location ' +
  'max-forwards proxy-authenticate proxy-authorization range referer refresh retry-after server ' +
  'set-cookie strict-transport-security transfer-encoding user-agent vary via www-authenticate'
).split(' ')

export const staticFields: readonly HeaderField[] = [
  [':authority', ''],
  [':method', 'GET'],
  [':method', 'POST'],
  [':path', '/'],
  [':path', '/index.html'],
  [':scheme', 'http'],
  [':scheme', 'https'],
  [':status', '200'],
  [':status', '204'],
  [':status', '206'],
  [':status', '304'],
  [':status', '400'],
  [':status', '404'],
  [':status', '500'],
  ['accept-charset', ''],
  ['accept-encoding', 'gzip, deflate'],
  ...namesOnly.map((name): HeaderField => [name, '']),
]

/** The fields that concern a connection of HTTP/1.1. Over HTTP/2 neither side may send them, and a
 *  server behind us would read them. Go's and Node's servers refuse the same ones (RFC 9113,
 *  8.2.2). */
export const ofConnection: ReadonlySet<string> = new Set(
  'connection keep-alive proxy-connection transfer-encoding upgrade'.split(' '),
)
