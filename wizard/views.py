"""The wizard: a paste or answers in, the answer out. Nothing is stored."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.cache import patch_vary_headers
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from diagnose.ingest import read_stream
from diagnose.knowledge import current
from diagnose.pipeline import diagnose
from diagnose.report import to_json, to_text
from kb import metrics
from kb.cases import cases_for, counts
from kb.near_cases import near
from kb.tokens import for_programs
from wizard import flow, home, intake, limits, state, words
from wizard.answering import answer, pairs, prefers_chinese

SHORTHAND = {"card", "other", "other_value"}  # fields of the page that stand for facts; the address shows the facts


@require_safe
def start(request: HttpRequest) -> HttpResponse:
    return _start(request)


def _start(request: HttpRequest, error: str = "", text: str = "") -> HttpResponse:
    context = home.context(current(), cases_for(request.user), counts(request.user))
    sent = any(file.size for file in request.FILES.getlist("files"))
    again = " Files have to be added again." if error and sent else ""
    more = {"section": "diagnose", "error": error + again, "text": text, "limits": limits}
    return render(request, "wizard/start.html", {**context, **more})


@require_POST
def too_old(request: HttpRequest) -> HttpResponse:
    """The box with what was pasted on a page whose token is worn: to diagnose changes nothing, so the words may stand in a new form."""
    words = "The page was too old to be answered, as after a sign-in in another tab. Your paste stands here: press Diagnose once more."
    response = _start(request, words, request.POST.get("paste", ""))
    response.status_code = 403
    return response


@require_http_methods(["GET", "HEAD", "POST"])
@limits.at_most(limits.FILES + limits.PASTE)
def result(request: HttpRequest) -> HttpResponse:
    return _read_paste(request) if request.method == "POST" else _read_link(request)


def _read_paste(request: HttpRequest) -> HttpResponse:
    answers = state.read_answers(pairs(request.POST))
    watch = metrics.stages()
    try:
        text = intake.pasted(request)
    except intake.TooLong as too_long:
        refusal = f"{limits.size_words(too_long.size)} {limits.PASTE_WORDS}"
        return _start(request, f"{refusal} The last lines stand here; going back gives the whole.", too_long.end)
    if text is None and not answers.values:
        return _start(request, words.nothing_given(intake.empty(request)))
    diagnosis = diagnose(text or "", answers.values, current(), near(request.user), passed=watch)
    return answer(request, diagnosis, answers, pasted=text is not None)


def _read_link(request: HttpRequest) -> HttpResponse:
    answers = state.read_answers(pairs(request.GET))
    if not answers.values and not answers.errors:
        return HttpResponseRedirect(reverse("wizard:start"))
    if not answers.errors and (SHORTHAND & request.GET.keys() or "" in request.GET.values()):
        return HttpResponseRedirect(f"{reverse('wizard:result')}?{state.link_of(answers)}")
    diagnosis = diagnose(
        "", answers.values, current(), near(request.user), command_alone=answers.alone, assumed=answers.assumed
    )
    return answer(request, diagnosis, answers, pasted=False)


@require_safe
def questions(request: HttpRequest) -> HttpResponse:
    step = flow.next_step(pairs(request.GET), current(), near(request.user))
    if step.ask is None and not step.query:
        return _start(
            request,
            "Nothing was answered, so nothing can be told. Bring the last 50 lines of the log and the launch command, "
            "or what ran out, the trainer, the model and the cards.",
        )
    if step.ask is None:
        return HttpResponseRedirect(f"{reverse('wizard:result')}?{step.query}")
    context = {"step": step, "chinese": prefers_chinese(request), "section": "diagnose"}
    response = render(request, "wizard/question.html", context)
    patch_vary_headers(response, ["Accept-Language"])
    return response


@csrf_exempt
@require_POST
@for_programs("match")
def shell(request: HttpRequest) -> HttpResponse:
    """For ``curl --data-binary @train.log``: no cookie counts, a token may; the body is read as it comes, the answer is text or JSON."""
    watch = metrics.stages()
    try:
        paste = read_stream(intake.body(request))
    except intake.TooLong:
        words = f"The limit is {limits.size_words(limits.SHELL)}. Send the end of the log: tail -c 50M train.log\n"
        return HttpResponse(words, status=413, content_type="text/plain; charset=utf-8")
    diagnosis = diagnose(paste, {}, current(), near(request.user), passed=watch)
    as_json = request.GET.get("format") == "json" or "application/json" in request.headers.get("Accept", "")
    if as_json:
        return JsonResponse(
            to_json(diagnosis), headers={"Cache-Control": "no-store"}, json_dumps_params={"ensure_ascii": False}
        )
    return HttpResponse(
        to_text(diagnosis), content_type="text/plain; charset=utf-8", headers={"Cache-Control": "no-store"}
    )
