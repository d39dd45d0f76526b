/** What the servers of this bench show. Nobody checks it. */

export const certificate: { readonly cert: string; readonly key: string } = {
  cert: 'test/support/certs/server.pem',
  key: 'test/support/certs/server.key',
}
