"""Worlds of pupils, staff and learners: a school, human resources, courses on the web."""

from __future__ import annotations

from datetime import date, datetime, timedelta

import numpy as np
from numpy.random import Generator

from .world import COUNTRIES, FIRST, LAST, Tables, World, at, clipped, days, later, numbered, partly, rows, zipf

_SCHOOL = """
CREATE TABLE teachers(teacher_id INTEGER PRIMARY KEY, surname VARCHAR NOT NULL, title VARCHAR NOT NULL, hired DATE NOT NULL);
CREATE TABLE subjects(subject_code VARCHAR PRIMARY KEY, subject_name VARCHAR NOT NULL, weekly_hours INTEGER NOT NULL);
CREATE TABLE students(student_no VARCHAR PRIMARY KEY, given_name VARCHAR NOT NULL, family_name VARCHAR NOT NULL,
  sex VARCHAR NOT NULL, born DATE NOT NULL, form VARCHAR NOT NULL, year_group TINYINT NOT NULL,
  native_language VARCHAR NOT NULL, free_meals BOOLEAN NOT NULL, distance_km DECIMAL(5,1) NOT NULL,
  siblings_at_school TINYINT NOT NULL, left_on DATE, household_income DECIMAL(12,2), zip VARCHAR NOT NULL);
CREATE TABLE grades(grade_id INTEGER PRIMARY KEY, student_no VARCHAR NOT NULL REFERENCES students,
  subject_code VARCHAR NOT NULL REFERENCES subjects, teacher_id INTEGER NOT NULL REFERENCES teachers, term VARCHAR NOT NULL,
  grade TINYINT NOT NULL, points TINYINT NOT NULL, given_on DATE NOT NULL, failed BOOLEAN NOT NULL);
CREATE TABLE absences(student_no VARCHAR NOT NULL REFERENCES students, first_day DATE NOT NULL, last_day DATE NOT NULL,
  reason VARCHAR NOT NULL, excused VARCHAR NOT NULL);
"""
_TAUGHT = [
    "Maths",
    "German",
    "English",
    "Biology",
    "Physics",
    "Chemistry",
    "History",
    "Geography",
    "Art",
    "Music",
    "Sports",
    "IT",
]
_SPOKEN = ["German", "Turkish", "Arabic", "Polish", "Russian", "Kurdish", "Ukrainian", "English"]


def _school(fixed: Generator, rng: Generator) -> Tables:
    n, start = 1500, date(2023, 8, 28)
    hired = days("1995-01-01", fixed.integers(0, 9000, 60))
    teachers = rows(range(1, 61), fixed.choice(LAST, 60), fixed.choice(["Mr", "Ms", "Dr"], 60), hired)
    codes = [name[:3].upper() for name in _TAUGHT]
    ability, year = rng.normal(0, 1, n), rng.integers(5, 13, n)
    students = rows(
        [f"S{i:05d}" for i in range(1, n + 1)],
        rng.choice(FIRST, n),
        rng.choice(LAST, n),
        rng.choice(["f", "m"], n),
        days("2018-09-01", -(year * 365 + rng.integers(0, 400, n))),
        [f"{y}{c}" for y, c in zip(year, rng.choice(list("abcd"), n), strict=True)],
        year,
        [_SPOKEN[i] for i in zipf(rng, n, 8, 1.5)],
        rng.random(n) < 0.2,
        rng.gamma(2, 1.7, n).round(1),
        rng.poisson(0.4, n),
        partly(rng, days("2023-09-01", rng.integers(0, 300, n)), 0.06),
        partly(rng, rng.lognormal(10.4, 0.5, n).round(2), 0.65),
        [str(10115 + 7 * z) for z in zipf(rng, n, 120, 0.7)],
    )
    grades, absences = [], []
    for student, able in zip(students, ability, strict=True):
        for term, given in ((1, date(2024, 1, 20)), (2, date(2024, 7, 5))):
            for subject in rng.choice(12, rng.integers(5, 9), replace=False):
                grade = round(clipped(3 - able * 0.8 + rng.normal(0, 0.8), 1, 6))
                points = int(clipped(15 - 2.4 * grade + rng.normal(0, 1), 0, 15))
                told = (f"2023/24-{term}", grade, points, given, grade >= 5)
                grades.append((len(grades) + 1, student[0], codes[subject], rng.integers(1, 61), *told))
        for gone in sorted(rng.integers(0, 320, rng.poisson(2.5 * np.exp(-able * 0.4)))):
            first = later(start, gone)
            why = rng.choice(["sick", "late", "family", "unexcused"], p=[0.6, 0.2, 0.1, 0.1])
            absences.append((student[0], first, later(first, rng.geometric(0.5) - 1), why, "Y" if rng.random() < 0.85 else "N"))
    subjects = rows(codes, _TAUGHT, fixed.integers(1, 6, 12))
    return {"teachers": teachers, "subjects": subjects, "students": students, "grades": grades, "absences": absences}


_STAFF = """
CREATE TABLE departments(dept_no VARCHAR PRIMARY KEY, dept_name VARCHAR NOT NULL);
CREATE TABLE employees(emp_no INTEGER PRIMARY KEY, birth_date DATE NOT NULL, first_name VARCHAR NOT NULL,
  last_name VARCHAR NOT NULL, gender VARCHAR NOT NULL, hire_date DATE NOT NULL, termination_date DATE,
  education VARCHAR NOT NULL, remote BOOLEAN NOT NULL, performance_score DECIMAL(3,1) NOT NULL,
  sick_days_last_year INTEGER NOT NULL, manager_no INTEGER, cost_center VARCHAR NOT NULL, nationality VARCHAR NOT NULL,
  social_security_no VARCHAR NOT NULL);
CREATE TABLE salaries(emp_no INTEGER NOT NULL REFERENCES employees, amount DECIMAL(10,2) NOT NULL, from_date DATE NOT NULL,
  to_date DATE NOT NULL, currency VARCHAR NOT NULL, PRIMARY KEY(emp_no, from_date));
CREATE TABLE titles(emp_no INTEGER NOT NULL REFERENCES employees, title VARCHAR NOT NULL, from_date DATE NOT NULL, to_date DATE,
  PRIMARY KEY(emp_no, title, from_date));
CREATE TABLE dept_emp(emp_no INTEGER NOT NULL REFERENCES employees, dept_no VARCHAR NOT NULL REFERENCES departments,
  from_date DATE NOT NULL, to_date DATE NOT NULL, workload DECIMAL(3,2) NOT NULL, PRIMARY KEY(emp_no, dept_no));
"""


def _staff(fixed: Generator, rng: Generator) -> Tables:
    n, end = 900, date(2023, 12, 31)
    departments = ["Sales", "Finance", "HR", "IT", "Legal", "Production", "Research", "Support", "Marketing"]
    codes, hired = [f"d{i:03d}" for i in range(1, 10)], days("2010-01-01", rng.integers(0, 4800, n))
    left = [later(day, gone) for day, gone in zip(hired, rng.integers(100, 900, n), strict=True)]
    employees = rows(
        range(10001, 10001 + n),
        days("2023-06-01", -rng.normal(42, 10, n).clip(19, 66) * 365.25),
        rng.choice(FIRST, n),
        rng.choice(LAST, n),
        rng.choice(["M", "F"], n),
        hired,
        [day if day is not None and day <= end else None for day in partly(rng, left, 0.15)],
        rng.choice(["none", "school", "bachelor", "master", "phd"], n, p=[0.05, 0.35, 0.35, 0.2, 0.05]),
        rng.random(n) < 0.3,
        rng.normal(3.2, 0.7, n).clip(1, 5).round(1),
        rng.poisson(6, n),
        partly(rng, rng.integers(10001, 10061, n), 0.95),
        [f"CC{i}" for i in zipf(rng, n, 50)],
        [COUNTRIES[i] for i in zipf(rng, n, 48, 1.6)],
        [f"{a}-{b}-{c}" for a, b, c in rng.integers((100, 10, 1000), (999, 99, 9999), (n, 3))],
    )
    salaries, titles, worked = [], [], []
    for person in employees:
        number, start, stop, amount = person[0], person[5], person[6] or end, rng.lognormal(10.5, 0.3)
        day = start
        while day < stop:
            until = min(later(day, 365), stop)
            salaries.append((number, round(amount, 2), day, until, "EUR"))
            amount, day = amount * (1 + max(0, rng.normal(0.03, 0.02))), later(until, 1)
        titles.append((number, rng.choice(["Engineer", "Clerk", "Technician", "Analyst", "Consultant"]), start, stop))
        worked.append((number, codes[zipf(rng, 1, 9, 0.8)[0]], start, stop, rng.choice([1, 1, 1, 0.5, 0.8])))
    people = {"employees": employees, "salaries": salaries, "titles": titles, "dept_emp": worked}
    return {"departments": rows(codes, departments), **people}


_COURSES = """
courses: course_id, title, category, level, price_eur, language
users: user_id, username, email, birth_year, country, registered_at, premium, last_login
enrollments: enrollment_id, user_id, course_id, enrolled_at, completed_at, progress_pct, minutes_spent, rating, certificate
quiz_attempts: user_id, course_id, taken_at, attempt, score, duration_s, passed
"""


def _courses(fixed: Generator, rng: Generator) -> Tables:
    n, codes = 700, [f"C{i:02d}" for i in range(1, 26)]
    topics = fixed.choice(["IT", "Language", "Business", "Art"], 25), fixed.choice(["beginner", "intermediate", "advanced"], 25)
    courses = rows(codes, [f"Course {i}" for i in range(25)], *topics, fixed.uniform(0, 199, 25).round(2), "de")
    registered = [
        _hours(at(day, 0), 24 * part)
        for day, part in zip(days("2021-01-01", rng.integers(0, 700, n)), rng.random(n), strict=True)
    ]
    users = rows(
        numbered(rng, n, 10**9, 10**10, "u{}"),
        [f"nick{i}" for i in range(n)],
        [f"n{i}@x.test" for i in range(n)],
        rng.integers(1955, 2008, n),
        [COUNTRIES[i] for i in zipf(rng, n, 30)],
        registered,
        rng.choice(["true", "false"], n, p=[0.3, 0.7]),
        [_hours(moment, 24 * gone) for moment, gone in zip(registered, rng.integers(0, 300, n), strict=True)],
    )
    taken, tried = [], []
    for user in users:
        able = rng.normal()
        for course in rng.choice(codes, min(25, rng.geometric(0.35)), replace=False):
            begun, progress = _hours(user[5], rng.gamma(1, 300)), clipped(rng.beta(1.2, 1) + 0.1 * able, 0, 1)
            done = _hours(begun, rng.gamma(3, 200)) if progress > 0.7 else None
            rating = rng.choice([1, 2, 3, 4, 5], p=[0.03, 0.07, 0.2, 0.4, 0.3]) if rng.random() < 0.4 else None
            certificate = "true" if done is not None and rng.random() < 0.8 else "false"
            spent = (round(100 * progress, 1), int(rng.gamma(2, 40)), rating, certificate)
            taken.append((len(taken) + 1, user[0], course, begun, done, *spent))
            when = begun
            for attempt in range(1, 1 + rng.poisson(3)):
                when = _hours(when, rng.gamma(1, 60))
                score = round(clipped(rng.normal(65 + 12 * able, 15), 0, 100), 2)
                passed = "true" if rng.random() < 0.6 + 0.1 * able else "false"
                tried.append((user[0], course, when, attempt, score, int(rng.gamma(4, 120)), passed))
    return {"courses": courses, "users": users, "enrollments": taken, "quiz_attempts": tried}


def _hours(moment: datetime, gone: float) -> datetime:
    return (moment + timedelta(hours=float(gone))).replace(microsecond=0)


SCHOOL = World("school", "duckdb", _SCHOOL, ("2023-08-28", "2024-08-31"), 1500, _school)
STAFF = World("staff", "duckdb", _STAFF, ("2010-01-01", "2023-12-31"), 900, _staff)
COURSES = World("courses", "folder", _COURSES, ("2021-01-01", "2024-12-31"), 700, _courses)
