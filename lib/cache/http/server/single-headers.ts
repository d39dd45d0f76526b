/** Headers that a request has once: of several the first counts, as Node has it. */
export const singleHeaders: ReadonlySet<string> = new Set(
  (
    'access-control-allow-credentials access-control-max-age access-control-request-method age ' +
    'authorization content-encoding content-language content-location content-md5 content-range ' +
    'content-type date dnt etag expires from if-match if-modified-since if-none-match if-range ' +
    'if-unmodified-since last-modified location max-forwards proxy-authorization range referer ' +
    'retry-after tk upgrade-insecure-requests user-agent x-content-type-options'
  ).split(' '),
)
