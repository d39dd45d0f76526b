/** The certificate of this bench's servers. No client verifies it. */

export const certificate: { readonly cert: string; readonly key: string } = {
  cert: 'test/support/certs/server.pem',
  key: 'test/support/certs/server.key',
}
