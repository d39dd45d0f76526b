/** A kind or a resource with its group, as apimachinery's GroupKind and GroupResource write it:
 *  `Job.batch`, `jobs.batch`, and `Pod` in the core group. */
export function withGroup(name: string, group: string): string {
  return group === '' ? name : `${name}.${group}`
}
