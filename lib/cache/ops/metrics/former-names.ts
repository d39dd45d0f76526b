/** Metrics that were renamed. Each is also shown by its former name for one release, so that
 *  dashboards and alerts can be changed in time. The next release empties this table. */

/** From the name of now to the former one. */
export const formerNames: ReadonlyMap<string, string> = new Map([
  ['watchglass_requests_in_flight', 'watchglass_exchanges'],
  ['watchglass_access_reviews_in_flight', 'watchglass_reviews_under_way'],
  ['watchglass_passed_requests_in_flight', 'watchglass_passed_under_way'],
  ['watchglass_pass_through', 'watchglass_switched_off'],
  ['watchglass_internal_errors_total', 'watchglass_faults_total'],
])

/** The metrics of a text that have a former name, once more by that name. */
export function underFormerNames(text: string): string {
  let again = ''
  for (const line of text.split('\n')) {
    const [, lead = '', name = '', rest = ''] = /^(# (?:HELP|TYPE) )?(\w+)(.*)$/.exec(line) ?? []
    const former = formerNames.get(name)
    if (former === undefined) continue
    again += `${lead}${former}${lead === '# HELP ' ? ` Former name of ${name}.` : rest}\n`
  }
  return again
}
