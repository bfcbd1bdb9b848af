"""scikit-learn's own checks of an estimator, all of them."""

from sklearn.utils.estimator_checks import check_estimator

from graylearn.estimator import GrayClassifier


def test_every_check_of_scikit_learn_passes():
    # Few epochs, because the checks fit some two hundred times; none of them is excused.
    results = check_estimator(GrayClassifier(epochs=8, audit="history"), on_skip=None)
    assert len(results) > 50
    not_passed = {result["check_name"] for result in results if result["status"] != "passed"}
    # scikit-learn leaves this one out where the environment variable SCIPY_ARRAY_API is not set
    assert not_passed <= {"check_array_api_input"}


def test_defaults_pass_the_checks_that_ask_for_learning():
    from sklearn.utils import estimator_checks as checks

    for check in (
        checks.check_parameters_default_constructible,
        checks.check_sample_weight_equivalence_on_dense_data,
        checks.check_methods_subset_invariance,
    ):
        check("GrayClassifier", GrayClassifier())
