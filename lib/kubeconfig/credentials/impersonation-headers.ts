/** Headers by which a user acts as another one (`as` and its like in a kubeconfig; client-go's
 *  `transport/round_trippers.go`). */

import type { KubeconfigImpersonation } from '../file/kubeconfig.ts'

/** Names in lower case; none if nobody is impersonated. */
export function impersonationHeaders({
  user,
  uid,
  groups,
  extra,
}: KubeconfigImpersonation): Readonly<Record<string, string | string[]>> {
  if (user === '') return {}
  return {
    'impersonate-user': headerText(user),
    ...(uid === '' ? {} : { 'impersonate-uid': headerText(uid) }),
    ...(groups.length === 0 ? {} : { 'impersonate-group': groups.map(headerText) }),
    ...Object.fromEntries(
      Object.entries(extra).map(([name, values]) => [
        `impersonate-extra-${escapedName(name)}`,
        values.map(headerText),
      ]),
    ),
  }
}

/** Go writes texts as UTF-8; Node writes a character for each byte. */
function headerText(text: string): string {
  return Buffer.from(text).toString('latin1')
}

/** The key with all bytes escaped that a header's name cannot have. */
function escapedName(key: string): string {
  return Buffer.from(key)
    .toString('latin1')
    .replace(/[^\w!#$&'*+.^`|~-]/g, found => {
      const code = found.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')
      return `%${code}`
    })
    .toLowerCase()
}
