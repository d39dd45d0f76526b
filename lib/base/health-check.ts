/** One check of whether the service is well. Whatever has a state that matters for readiness makes
 *  one; /readyz asks them all. */

export interface HealthCheck {
  readonly name: string
  /** What is wrong; undefined if nothing is. */
  readonly problem: () => string | undefined
}
