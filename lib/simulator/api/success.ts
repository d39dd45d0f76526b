/** The Status of a success, which only writes have. */

import { type StatusDetails, textMember } from '@watchglass/kube'

/** The body of a successful write that has no object to show: compact JSON with a final newline. */
export function successJson({
  details,
  hasCode,
  code,
}: {
  readonly details: (StatusDetails & { readonly uid: string }) | undefined
  readonly hasCode: boolean
  readonly code: number
}): string {
  const members = [
    '"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success"',
    ...(details === undefined
      ? []
      : [
          `"details":{${[
            ...textMember('name', details.name),
            ...textMember('group', details.group),
            ...textMember('kind', details.kind),
            ...textMember('uid', details.uid),
          ].join(',')}}`,
        ]),
    ...(hasCode ? [`"code":${code}`] : []),
  ]
  return `{${members.join(',')}}\n`
}
